package definition

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/internal/document"
)

// Options configure the conversion of a definition. The zero value is a definition for
// itself, whose servers are absolute and whose only plugin is oidc.
type Options struct {
	// Name is the prefix of the names of all entities. Empty means x-kong-name, or
	// the title of the API.
	Name string
	// Tags are the tags of every entity. Nil means x-kong-tags.
	Tags []string
	// Plugins are the plugins that the gateway has. Nil means oidc alone. One that a
	// definition names and the gateway does not have is an error: leaving it out
	// could open what it was to close.
	Plugins []string
	// Server is the address that relative servers are relative to, and the server of
	// a definition that has none. Empty makes these an error.
	Server string
	// Path is a listen path, such as /weather: all routes are below it, and services see
	// requests without it. Empty means none. [CheckPath] checks it.
	//
	// Kong's strip_path takes off all that the expression of a route matches, which is the
	// whole path here. So the expression has the path after the prefix as a group, and a
	// request-transformer on the service, which has to be one of Plugins, puts the path of
	// the service and that group together. One that the definition has itself does it
	// beside what it does already, unless it replaces the path.
	Path string
	// SecurityPlugin is the plugin that security requirements become: one requirement
	// with one scheme of the type openIdConnect. Others are errors then, for a gateway
	// that left them out would open what they close.
	//
	// Empty ignores all requirements, as Kong's converter does by default. It is the
	// default here, too, because in OpenAPI requirements describe what the service behind
	// the gateway demands by itself: of many files they could not be met, having API
	// keys or OAuth 2.0, and an issuer that a file names need not be one whose tokens
	// the operator of the gateway accepts.
	//
	// [OpenIDConnectPlugin] is Kong's, made as Kong's converter makes it: the address of
	// the scheme as issuer, each scope as one of scopes_required, of which Kong requires
	// any, and x-kong-security-openid-connect of the scheme for the rest.
	//
	// [OIDCPlugin] is that of this project's gateway: the address of the scheme as
	// discovery, bearer_only, and scopes_required that requires all scopes of the
	// requirement (OpenAPI 3.0.3, Security Requirement Object). x-kong-security-oidc of
	// the scheme, or the x-kong-plugin-oidc that applies to the operation, has the rest,
	// such as client and introspection.
	SecurityPlugin string
	// RequestValidator has plugins request-validator without schemas get the
	// operation that they are for, in the form of this project's gateway. A Kong does
	// not support that form; false leaves the plugins as they are.
	RequestValidator bool
	// Preflights creates a route for the preflight requests of each operation to which a
	// plugin cors applies (Fetch standard, section 3.2.2), unless its path has an operation
	// OPTIONS: otherwise no route matches them, as with Kong's converter.
	Preflights bool
	// Allow decides which addresses requests may be sent to. It is called for each,
	// and its error is reported with the place. Nil allows all.
	Allow func(host string, port int) error
}

// What [Options].SecurityPlugin may be.
const (
	OpenIDConnectPlugin = "openid-connect"
	OIDCPlugin          = "oidc"
)

const (
	pluginPrefix       = "x-kong-plugin-"
	nameExtension      = "x-kong-name"
	tagsExtension      = "x-kong-tags"
	serviceExtension   = "x-kong-service-defaults"
	upstreamExtension  = "x-kong-upstream-defaults"
	routeExtension     = "x-kong-route-defaults"
	securityPrefix     = "x-kong-security-"
	extensionPrefix    = "x-kong-"
	priorityPlain      = 200 // of a path without parameters, which comes first in OpenAPI
	priorityParameters = 100
)

// Convert returns the configuration of a gateway for a definition, normalised. It follows
// Kong's openapi2kong:
//
//   - The document becomes a service. A path or an operation with servers or
//     defaults of its own gets a service of its own.
//   - Several servers become an upstream. Those that have another protocol or
//     another path than the first are left out: one service has one of each.
//   - An operation becomes a route: its method, and its path as a regular
//     expression of the whole path, /things/{id} as ~/things/(?<id>[^#?/]+)$. The
//     path of the server is the service's, and strip_path is false. Paths without
//     parameters come first (regex_priority 200 and 100). The path is the normal form of
//     that in the file, which is what gateways match.
//   - x-kong-name names the document, a path or an operation; x-kong-tags labels
//     all entities; x-kong-service-defaults, x-kong-upstream-defaults and
//     x-kong-route-defaults are the entities' other fields. These and the plugins
//     may be references to what is below /components/x-kong.
//   - x-kong-plugin-<name> is a plugin, for the whole document, a path or an
//     operation; of several of one name the nearest counts, except that a disabled
//     one does not take back an enabled one. Its fields are those of
//     [entity.Plugin]: enabled, config, protocols, instance_name, tags.
//
// Other extensions that begin with x-kong- are errors where these may stand: a
// plugin whose name is misspelt would secure nothing. So are plugins for a
// consumer.
//
// With [Options.RequestValidator], a request-validator whose config has no schemas
// gets those of each operation, at most 256 KiB for one and 4 MiB for all, and stands
// on the routes. Without, it is left alone, and a Kong, for which it is a paid
// plugin, requires body_schema or parameter_schema in the file.
//
// Errors wrap [ErrInvalid] and name the place in the definition.
func Convert(d *Definition, options Options) (entity.Config, error) {
	c := &converter{root: d.root, options: options, names: map[string]bool{}, places: map[string]*document.Node{},
		selection: &selection{root: d.root, components: map[string]*component{}}}
	if c.options.Plugins == nil {
		c.options.Plugins = []string{"oidc"}
	}
	if err := c.document(); err != nil {
		return entity.Config{}, fmt.Errorf("convert: %w: %w", ErrInvalid, err)
	}
	config, err := c.config.Normalize()
	if err != nil {
		return entity.Config{}, fmt.Errorf("convert: %w: %w", ErrInvalid, c.located(err))
	}
	if err := c.allowed(config); err != nil {
		return entity.Config{}, fmt.Errorf("convert: %w: %w", ErrInvalid, err)
	}
	return config, nil
}

// converter gathers the entities.
type converter struct {
	root    *document.Node
	options Options
	tags    []string
	base    *url.URL // that of Options.Server, or nil
	config  entity.Config
	names   map[string]bool           // that are taken, by kind
	places  map[string]*document.Node // by kind and name of entity

	selection *selection // for request validators
}

// level is what holds at the document, a path or an operation: its own, or what it
// has from the level above.
type level struct {
	node    *document.Node
	name    string
	servers *document.Node // nil means that of the specification, "/"

	serviceDefaults, upstreamDefaults, routeDefaults *document.Node

	service  *service  // nil until it is needed
	plugins  []*plugin // that routes below have to carry themselves
	security *document.Node

	validator *plugin // which each operation fills, or nil
}

// service is one that has been made.
type service struct {
	name, host, path string
}

func (c *converter) document() error {
	if c.options.Server != "" {
		base, err := url.Parse(c.options.Server)
		if err != nil || base.Scheme == "" || base.Hostname() == "" {
			return fmt.Errorf("option Server: %q is not an address with protocol and host", c.options.Server)
		}
		c.base = base
	}
	if err := c.checkListenPath(); err != nil {
		return err
	}
	if err := c.readTags(); err != nil {
		return err
	}
	top := &level{node: c.root, servers: c.root.Get("servers"), security: c.root.Get("security")}
	own, err := c.extensions(top, c.root)
	if err != nil {
		return err
	}
	name := cmp.Or(c.options.Name, own.name, text(c.root.Get("info").Get("title")))
	top.name = cmp.Or(slug(name), "api")
	for _, path := range members(c.root.Get("paths")) {
		if err := c.path(top, own.plugins, path.Key, path.Value); err != nil {
			return err
		}
	}
	if len(c.config.Routes) == 0 && !is31(c.root) { // whose paths may be absent, for webhooks
		return c.root.Get("paths").Errorf("there is no operation")
	}
	return nil
}

func (c *converter) readTags() error {
	if c.options.Tags != nil {
		c.tags = c.options.Tags
		return nil
	}
	tags := c.root.Get(tagsExtension)
	if tags == nil {
		return nil
	}
	if tags.Kind != document.Array {
		return tags.Errorf("an array of strings is needed, this is %s", tags.Kind)
	}
	for _, item := range tags.Items {
		tag, ok := item.Str()
		if !ok {
			return item.Errorf("a string is needed, this is %s", item.Kind)
		}
		c.tags = append(c.tags, tag)
	}
	return nil
}

func (c *converter) path(top *level, topPlugins []*plugin, key string, n *document.Node) error {
	item, err := resolve(c.root, n)
	if err != nil {
		return err
	}
	parsed, err := parseTemplate(key)
	if err != nil {
		return n.Errorf("%w", err)
	}
	parsed = parsed.normal()
	at := below(top, item)
	own, err := c.extensions(at, item)
	if err != nil {
		return err
	}
	name := slug(own.name)
	if own.name == "" {
		name = slug(key)
		if strings.HasSuffix(key, "/") { // beside the same path without it
			name += "~"
		}
	}
	at.name = joined(top.name, name)
	newService, newUpstream := at.changes(top)
	servicePlugins := topPlugins
	if newService {
		servicePlugins = merged(topPlugins, own.plugins)
	} else {
		at.plugins = own.plugins
	}
	for _, method := range item.Members {
		if !isMethod(method.Key) {
			continue
		}
		carrier, fresh := top, topPlugins
		if newService {
			carrier, fresh = at, servicePlugins
		}
		if carrier.service == nil {
			parent := ""
			if newService && !newUpstream {
				if err := c.makeService(top, "", topPlugins); err != nil {
					return err
				}
				parent = top.service.host
			}
			if err := c.makeService(carrier, parent, fresh); err != nil {
				return err
			}
		}
		all := merged(servicePlugins, at.plugins)
		if err := c.operation(at, carrier, all, parsed, method); err != nil {
			return err
		}
	}
	return nil
}

// below is a level with what it has from the one above.
func below(up *level, n *document.Node) *level {
	at := &level{node: n, servers: up.servers, serviceDefaults: up.serviceDefaults, upstreamDefaults: up.upstreamDefaults,
		routeDefaults: up.routeDefaults, security: up.security, validator: up.validator}
	if servers := n.Get("servers"); servers != nil && len(servers.Items) > 0 {
		at.servers = servers
	}
	if security := n.Get("security"); security != nil {
		at.security = security
	}
	return at
}

// changes reports whether a level needs a service, and an upstream, of its own.
func (l *level) changes(up *level) (newService, newUpstream bool) {
	newUpstream = l.servers != up.servers || l.upstreamDefaults != up.upstreamDefaults
	return newUpstream || l.serviceDefaults != up.serviceDefaults, newUpstream
}

func (c *converter) operation(up, carrier *level, inherited []*plugin, path template, method document.Member) error {
	at := below(up, method.Value)
	own, err := c.extensions(at, method.Value)
	if err != nil {
		return err
	}
	upper := strings.ToUpper(method.Key)
	top := up.name
	switch id := text(method.Value.Get("operationId")); {
	case own.name != "":
		at.name = joined(up.name, slug(own.name))
	case slug(id) != "":
		at.name = joined(c.documentName(), slug(id))
	default:
		at.name = joined(top, slug(upper))
	}
	at.name = c.unique(entity.KindRoute, at.name)
	plugins := merged(up.plugins, own.plugins)
	newService, newUpstream := at.changes(up)
	if newService {
		parent := ""
		if !newUpstream {
			parent = carrier.service.host
		}
		if err := c.makeService(at, parent, nil); err != nil {
			return err
		}
		carrier, plugins = at, merged(inherited, own.plugins)
	}
	if c.options.SecurityPlugin != "" {
		demanded, err := c.security(at.security, merged(inherited, own.plugins))
		if err != nil {
			return err
		}
		if demanded != nil {
			plugins = merged(plugins, []*plugin{demanded})
		}
	}
	if at.validator != nil {
		filled, err := c.selection.fill(at.validator, up.node, method.Value, path)
		if err != nil {
			return err
		}
		plugins = merged(plugins, []*plugin{filled})
	}
	if plugins, err = c.stripped(plugins, carrier.service.path, false); err != nil {
		return err
	}
	route := entity.Route{}
	if err := c.decode(at.routeDefaults, &route, "id", "name", "service", "paths", "methods", "plugins"); err != nil {
		return err
	}
	hasPriority := at.routeDefaults.Get("regex_priority") != nil
	switch {
	case hasPriority && path.hasParameters():
		route.RegexPriority--
	case hasPriority:
	case path.hasParameters():
		route.RegexPriority = priorityParameters
	default:
		route.RegexPriority = priorityPlain
	}
	if c.options.Path != "" && route.StripPath != nil && *route.StripPath {
		return at.routeDefaults.Errorf("strip_path takes the whole path off, so that below the path %q nothing is left of "+
			"it; leave it out", c.options.Path)
	}
	if route.StripPath == nil {
		no := false
		route.StripPath = &no
	}
	route.Name, route.Tags = at.name, slices.Clone(c.tags)
	route.Service = &entity.Ref{Name: carrier.service.name}
	route.Methods, route.Paths = []string{upper}, []string{c.expression(path)}
	c.config.Routes = append(c.config.Routes, route)
	c.places[string(entity.KindRoute)+route.Name] = method.Value
	c.attach(route.Name, plugins)
	if c.options.Preflights && up.node.Get("options") == nil {
		c.preflight(route, inherited, plugins)
	}
	return nil
}

// attach puts plugins on a route.
func (c *converter) attach(route string, plugins []*plugin) {
	for _, p := range plugins {
		made := p.entity
		made.Route = &entity.Ref{Name: route}
		c.config.Plugins = append(c.config.Plugins, made)
	}
}

// preflight creates a route for the preflight requests of an operation if a plugin cors
// applies to it. cors answers them before other plugins see them; only if it has the service
// answer, the other plugins of the operation's route apply as well.
func (c *converter) preflight(of entity.Route, inherited, plugins []*plugin) {
	all := merged(inherited, plugins)
	i := slices.IndexFunc(all, func(p *plugin) bool { return p.entity.Name == corsPlugin && !p.disabled() })
	if i < 0 {
		return
	}
	var config struct {
		Continue bool `json:"preflight_continue"`
	}
	if json.Unmarshal(all[i].entity.Config, &config) == nil && !config.Continue {
		plugins = slices.DeleteFunc(slices.Clone(plugins), func(p *plugin) bool { return p.entity.Name != corsPlugin })
	}
	made := of
	made.Name = c.unique(entity.KindRoute, of.Name+"_preflight")
	made.Tags = slices.Clone(of.Tags)
	made.Headers = map[string][]string{"access-control-request-method": of.Methods}
	for name, values := range of.Headers {
		if !strings.EqualFold(name, "access-control-request-method") {
			made.Headers[name] = values
		}
	}
	made.Methods = []string{"OPTIONS"}
	c.config.Routes = append(c.config.Routes, made)
	c.places[string(entity.KindRoute)+made.Name] = c.places[string(entity.KindRoute)+of.Name]
	c.attach(made.Name, plugins)
}

const corsPlugin = "cors"

// documentName is the prefix of the names of all entities.
func (c *converter) documentName() string {
	name := cmp.Or(c.options.Name, text(c.root.Get(nameExtension)), text(c.root.Get("info").Get("title")))
	return cmp.Or(slug(name), "api")
}

// unique creates a name that no other entity of the kind has.
func (c *converter) unique(kind entity.Kind, name string) string {
	made := name
	for n := 2; c.names[string(kind)+made]; n++ {
		made = name + "-" + strconv.Itoa(n)
	}
	c.names[string(kind)+made] = true
	return made
}

// located adds places to the errors of fields.
func (c *converter) located(err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	var made []error
	for _, one := range joined.Unwrap() {
		var field *entity.FieldError
		if errors.As(one, &field) {
			if at := c.places[string(field.Kind)+field.Name]; at != nil {
				one = at.Errorf("%w", one)
			}
		}
		made = append(made, one)
	}
	return errors.Join(made...)
}
