package definition

import (
	"encoding/json"
	"slices"

	"github.com/iotenablers/enablers/apimgmt/internal/document"
)

// security makes the plugin that a security requirement demands; nil if there is
// none. The plugin stands on each route, because an empty list at an operation
// takes back what the document demands.
func (c *converter) security(requirements *document.Node) (*plugin, error) {
	if requirements == nil || len(requirements.Items) == 0 {
		return nil, nil
	}
	if len(requirements.Items) > 1 {
		return nil, requirements.Errorf("several security requirements, of which one is enough, cannot be converted")
	}
	requirement := requirements.Items[0]
	if len(requirement.Members) == 0 {
		return nil, nil
	}
	if len(requirement.Members) > 1 {
		return nil, requirement.Errorf("several security schemes together cannot be converted")
	}
	member := requirement.Members[0]
	scheme := c.root.Get("components").Get("securitySchemes").Get(member.Key)
	if scheme == nil {
		return nil, member.Value.Errorf("there is no security scheme %q", shown(member.Key))
	}
	scheme, err := resolve(c.root, scheme)
	if err != nil {
		return nil, err
	}
	if kind := text(scheme.Get("type")); kind != "openIdConnect" {
		return nil, scheme.Errorf("security schemes of the type %q cannot be converted, only openIdConnect", shown(kind))
	}
	base := scheme.Get(securityPrefix + oidcPlugin)
	if base == nil {
		base = &document.Node{Kind: document.Object, Line: scheme.Line, Column: scheme.Column}
	}
	made, err := c.plugin(oidcPlugin, base)
	if err != nil {
		return nil, err
	}
	c.places["plugin"+oidcPlugin] = scheme
	made.entity.Config, err = withScopes(made.entity.Config, text(scheme.Get("openIdConnectUrl")), member.Value)
	if err != nil {
		return nil, scheme.Errorf("%w", err)
	}
	return made, nil
}

// withScopes adds what the definition says of a scheme to the configuration of
// its plugin, whose own issuer comes first.
func withScopes(config json.RawMessage, issuer string, scopes *document.Node) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(config, &fields); err != nil {
		return nil, err
	}
	var required []string
	if listed, ok := fields["scopes_required"]; ok {
		if err := json.Unmarshal(listed, &required); err != nil {
			return nil, err
		}
	}
	for _, scope := range scopes.Items {
		required = append(required, text(scope))
	}
	slices.Sort(required)
	required = slices.Compact(required)
	if required == nil {
		required = []string{}
	}
	put := func(name string, value any) error {
		data, err := json.Marshal(value)
		fields[name] = data
		return err
	}
	if err := put("scopes_required", required); err != nil {
		return nil, err
	}
	if _, has := fields["issuer"]; !has && issuer != "" {
		if err := put("issuer", issuer); err != nil {
			return nil, err
		}
	}
	return json.Marshal(fields)
}
