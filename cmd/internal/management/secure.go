package management

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/iotenablers/enablers/apimgmt/oidc/devidp"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// Secure returns a definition, in JSON, with a plugin on each operation whose x-role is not
// public: the gateway lets in who has a token of the provider with that role or a higher one.
func (m *Management) Secure(definition []byte) ([]byte, error) {
	var root map[string]any
	decoder := json.NewDecoder(bytes.NewReader(definition))
	decoder.UseNumber()
	if err := decoder.Decode(&root); err != nil {
		return nil, fmt.Errorf("secure a definition: %w", err)
	}
	paths, _ := root["paths"].(map[string]any)
	for _, path := range paths {
		operations, _ := path.(map[string]any)
		for _, one := range operations {
			operation, _ := one.(map[string]any)
			role, _ := operation["x-role"].(string)
			if wanted := realmRoles(httpapi.Role(role)); wanted != nil {
				operation["x-kong-plugin-oidc"] = map[string]any{"config": map[string]any{
					"discovery": m.discovery, "bearer_only": "yes", "realm": m.config.Realm, "roles_required": wanted,
				}}
			}
		}
	}
	return json.Marshal(root)
}

// realmRoles returns the roles of the provider that include a role of the door; nil if the
// role needs none.
func realmRoles(role httpapi.Role) []string {
	var names []string
	for _, one := range []struct {
		name string
		role httpapi.Role
	}{{devidp.Admin, httpapi.Admin}, {devidp.Developer, httpapi.Operator}, {devidp.OpenCaller, httpapi.Reader}} {
		if httpapi.IsRole(string(role)) && one.role.Includes(role) {
			names = append(names, one.name)
		}
	}
	return names
}
