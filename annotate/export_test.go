package annotate

import "github.com/iotenablers/enablers/internal/httpapi"

// RoutesAndDocument are what the REST interface is held to.
func RoutesAndDocument(m *Manager) ([]httpapi.Route, []byte) {
	return newREST(m, nil).routes(), openapi
}
