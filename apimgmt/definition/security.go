package definition

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/internal/document"
)

// security creates the plugin that a security requirement demands; nil if there is
// none. The plugin stands on each route, because an empty list at an operation
// takes back what the document demands. given are the plugins that apply there.
func (c *converter) security(requirements *document.Node, given []*plugin) (*plugin, error) {
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
	name := c.options.SecurityPlugin
	made, err := c.basis(name, scheme, given)
	if err != nil {
		return nil, err
	}
	c.places[string(entity.KindPlugin)+name] = scheme
	address := text(scheme.Get("openIdConnectUrl"))
	if name == OIDCPlugin {
		made.entity.Config, err = oidcConfig(made.entity.Config, address, member.Value)
	} else {
		made.entity.Config, err = openIDConnectConfig(made.entity.Config, address, member.Value)
	}
	if err != nil {
		return nil, scheme.Errorf("%w", err)
	}
	return made, nil
}

// basis is what a requirement is added to: the extension of the scheme, or for oidc
// the plugin of that name which applies already.
func (c *converter) basis(name string, scheme *document.Node, given []*plugin) (*plugin, error) {
	i := slices.IndexFunc(given, func(p *plugin) bool { return p.entity.Name == name && !p.disabled() })
	if name == OIDCPlugin && i >= 0 {
		return &plugin{entity: given[i].entity}, nil // whose configuration is replaced, not changed
	}
	base := scheme.Get(securityPrefix + name)
	if base == nil {
		base = &document.Node{Kind: document.Object, Line: scheme.Line, Column: scheme.Column}
	}
	return c.plugin(name, base)
}

// openIDConnectConfig adds what the definition says of a scheme to the configuration of
// Kong's plugin, whose own issuer comes first.
func openIDConnectConfig(config json.RawMessage, issuer string, scopes *document.Node) (json.RawMessage, error) {
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
	required = append(required, itemTexts(scopes)...)
	slices.Sort(required)
	required = slices.Compact(required)
	if required == nil {
		required = []string{}
	}
	if err := put(fields, "scopes_required", required); err != nil {
		return nil, err
	}
	if _, has := fields["issuer"]; !has && issuer != "" {
		if err := put(fields, "issuer", issuer); err != nil {
			return nil, err
		}
	}
	return json.Marshal(fields)
}

// oidcConfig adds what the definition says of a scheme to the configuration of the
// plugin of this project's gateway. Of its scopes_required one is enough, so each of
// them gets all scopes of the definition.
func oidcConfig(config json.RawMessage, discovery string, scopes *document.Node) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(config, &fields); err != nil {
		return nil, err
	}
	var enough []string
	if listed, ok := fields["scopes_required"]; ok && json.Unmarshal(listed, &enough) != nil {
		enough = []string{""}
		if err := json.Unmarshal(listed, &enough[0]); err != nil {
			return nil, errors.New("scopes_required: strings are needed")
		}
	}
	if demanded := itemTexts(scopes); len(demanded) > 0 {
		if len(enough) == 0 {
			enough = []string{""}
		}
		for i, words := range enough {
			all := append(strings.Fields(words), demanded...)
			slices.Sort(all)
			enough[i] = strings.Join(slices.Compact(all), " ")
		}
		if err := put(fields, "scopes_required", enough); err != nil {
			return nil, err
		}
	}
	_, hasDiscovery := fields["discovery"]
	_, hasIssuer := fields["issuer"]
	if !hasDiscovery && !hasIssuer && discovery != "" {
		if err := put(fields, "discovery", discovery); err != nil {
			return nil, err
		}
	}
	if _, has := fields["bearer_only"]; !has {
		if err := put(fields, "bearer_only", "yes"); err != nil {
			return nil, err
		}
	}
	return json.Marshal(fields)
}

func itemTexts(list *document.Node) []string {
	var made []string
	for _, item := range list.Items {
		made = append(made, text(item))
	}
	return made
}

func put(fields map[string]json.RawMessage, name string, value any) error {
	data, err := json.Marshal(value)
	fields[name] = data
	return err
}
