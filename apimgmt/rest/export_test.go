package rest

import (
	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// RoutesAndDocument returns the route table and the OpenAPI document.
func RoutesAndDocument(p *apimgmt.Publisher) ([]httpapi.Route, []byte) {
	return newREST(p, nil).routes(), openapi
}
