package modelrepo

import "github.com/iotenablers/enablers/internal/httpapi"

// RoutesAndDocument returns the route table and the OpenAPI document.
func RoutesAndDocument() ([]httpapi.Route, []byte) {
	r := newREST(nil, nil)
	return append(r.tree(), r.service()...), openapi
}

// DecodeUpdate is decodeUpdate.
func DecodeUpdate(data []byte, field string) (value, fault string) { return decodeUpdate(data, field) }
