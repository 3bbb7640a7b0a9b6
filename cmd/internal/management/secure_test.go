package management

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
)

func TestManagement_Secure_demandsTheRolesOfOperations(t *testing.T) {
	m := &Management{discovery: "http://idp.example/discovery", base: base{Config: Config{Realm: "OpenAPI"}}}
	secured := func(roles string) string {
		return `"x-kong-plugin-oidc": {"config": {"discovery": "http://idp.example/discovery", "bearer_only": "yes", ` +
			`"realm": "OpenAPI", "roles_required": [` + roles + `]}}`
	}
	made, err := m.Secure([]byte(`{"info": {"version": "1.10", "x-limit": 12345678901234567890}, "paths": {
		"/healthz": {"get": {"x-role": "public"}}, "/other": {"summary": "x", "get": {}},
		"/things": {"get": {"x-role": "reader"}, "post": {"x-role": "operator"}, "delete": {"x-role": "admin"}}}}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"info": {"version": "1.10", "x-limit": 12345678901234567890}, "paths": {
		"/healthz": {"get": {"x-role": "public"}}, "/other": {"summary": "x", "get": {}},
		"/things": {"get": {"x-role": "reader", `+secured(`"admin", "Developer", "Open-Caller"`)+`},
			"post": {"x-role": "operator", `+secured(`"admin", "Developer"`)+`},
			"delete": {"x-role": "admin", `+secured(`"admin"`)+`}}}}`, string(made))
	require.Contains(t, string(made), "12345678901234567890")
	_, err = m.Secure([]byte("openapi: 3.0.3"))
	require.ErrorContains(t, err, "secure a definition")
}

func TestRealmRoles_standForEveryRole(t *testing.T) {
	require.ElementsMatch(t, httpapi.Roles(), slices.Collect(maps.Values(realmRoles())),
		"each role of the door needs a role of the identity provider")
}
