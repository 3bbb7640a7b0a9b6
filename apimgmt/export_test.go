package apimgmt

import "github.com/iotenablers/enablers/internal/httpapi"

// RoutesAndDocument returns the route table and the OpenAPI document.
func RoutesAndDocument(p *Publisher) ([]httpapi.Route, []byte) {
	return newREST(p, nil).routes(), openapi
}
