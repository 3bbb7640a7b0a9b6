package rest_test

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/rest"
)

func TestNewHandler_servesTheRoutesOfItsDocument(t *testing.T) {
	routes, document := rest.RoutesAndDocument()
	require.NoError(t, httpapi.CheckRoutes(routes, document))
	parsed, err := openapi3.NewLoader().LoadFromData(document)
	require.NoError(t, err)
	require.NoError(t, parsed.Validate(t.Context()))
}

func TestNewHandler_documentsEveryAction(t *testing.T) {
	_, document := rest.RoutesAndDocument()
	parsed, err := openapi3.NewLoader().LoadFromData(document)
	require.NoError(t, err)
	var actions []any
	for _, info := range modelrepo.Actions() {
		actions = append(actions, string(info.Action))
	}
	found := 0
	for name, schema := range parsed.Components.Schemas {
		if action := schema.Value.Properties["action"]; action != nil {
			require.Equal(t, actions, action.Value.Enum, "schema %q", name)
			found++
		}
	}
	require.Equal(t, 2, found, "of a webhook, and of a request for one")
}
