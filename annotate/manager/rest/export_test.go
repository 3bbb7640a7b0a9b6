package rest

import (
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// RoutesAndDocument returns the route table and the OpenAPI document.
func RoutesAndDocument(m *manager.Manager) ([]httpapi.Route, []byte) {
	return newREST(m, nil).routes(), openapi
}
