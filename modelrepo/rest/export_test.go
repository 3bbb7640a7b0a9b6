package rest

import "github.com/iotenablers/enablers/internal/httpapi"

// RoutesAndDocument returns the route table and the OpenAPI document.
func RoutesAndDocument() ([]httpapi.Route, []byte) {
	r := newREST(nil, nil)
	return append(r.tree(), r.service()...), openapi
}
