package rest

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
)

func TestAPI_Routes_areThoseOfTheDocument(t *testing.T) {
	require.NoError(t, httpapi.CheckRoutes((&API{}).Routes(), openapi))
}

func TestNewHandler_servesAValidOpenAPIDocument(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromData(openapi)
	require.NoError(t, err)
	require.NoError(t, document.Validate(t.Context()))
	ids := map[string]bool{}
	for path, item := range document.Paths.Map() {
		for _, operation := range item.Operations() {
			require.NotContains(t, ids, operation.OperationID, path)
			ids[operation.OperationID] = true
		}
	}
}
