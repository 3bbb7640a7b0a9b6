package repository_test

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/internal/httpapi"
)

func TestNewHandler_agreesWithTheOpenAPIDocument(t *testing.T) {
	routes, document := repository.RoutesAndDocument()
	require.NoError(t, httpapi.CheckRoutes(routes, document))
	parsed, err := openapi3.NewLoader().LoadFromData(document)
	require.NoError(t, err)
	require.NoError(t, parsed.Validate(t.Context()))
}
