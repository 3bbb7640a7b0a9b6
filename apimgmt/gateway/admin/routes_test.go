package admin

import (
	"net/http"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/storage"
)

func TestAPI_Routes_matchTheOpenAPIDocument(t *testing.T) {
	g, err := gateway.New(nil)
	require.NoError(t, err)
	store, err := Open(t.Context(), StoreConfig{Gateway: g, Documents: storage.NewMemoryDocuments()})
	require.NoError(t, err)
	a, err := New(Config{Store: store, Metrics: prometheus.NewRegistry()})
	require.NoError(t, err)
	require.NoError(t, httpapi.CheckRoutes(a.routes, openapi))
}

func TestOpenAPI_isValid(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromData(openapi)
	require.NoError(t, err)
	require.NoError(t, document.Validate(t.Context()))
	ids := map[string]bool{}
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			require.NotContains(t, ids, operation.OperationID, path)
			ids[operation.OperationID] = true
			require.Contains(t, []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, method)
		}
	}
}
