package management

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/iotenablers/enablers/apimgmt/oidc/devidp"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// Secure returns a definition, in JSON, with a plugin on each operation whose x-role is not
// public: the gateway accepts who has a token of the provider with that role or a higher one.
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
			if wanted := allowedRealmRoles(httpapi.Role(role)); wanted != nil {
				operation["x-kong-plugin-oidc"] = map[string]any{"config": map[string]any{
					"discovery": m.discovery, "bearer_only": "yes", "realm": m.Realm, "roles_required": wanted,
				}}
			}
		}
	}
	return json.Marshal(root)
}

// realmRoles returns the roles of the identity provider, with the roles of the door that
// they stand for.
func realmRoles() map[string]httpapi.Role {
	return map[string]httpapi.Role{
		devidp.OpenCaller: httpapi.Reader,
		devidp.Developer:  httpapi.Operator,
		devidp.Admin:      httpapi.Admin,
	}
}

// allowedRealmRoles returns the roles of the provider that include a role of the door, the
// highest first. It returns nil if the role needs none.
func allowedRealmRoles(role httpapi.Role) []string {
	if !httpapi.IsRole(string(role)) {
		return nil
	}
	all := realmRoles()
	var names []string
	for name, stands := range all {
		if stands.Includes(role) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if all[a].Includes(all[b]) {
			return -1
		}
		return 1
	})
	return names
}
