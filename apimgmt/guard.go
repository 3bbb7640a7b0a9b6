package apimgmt

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/iotenablers/enablers/apimgmt/definition"
	"github.com/iotenablers/enablers/apimgmt/entity"
)

// authenticators are the kinds of plugins, of the embedded gateway and of Kong, that refuse
// a caller without credentials.
var authenticators = map[string]bool{
	"oidc": true, "openid-connect": true, "key-auth": true, "key-auth-enc": true, "jwt": true, "jwt-signer": true,
	"basic-auth": true, "hmac-auth": true, "oauth2": true, "oauth2-introspection": true, "ldap-auth": true,
	"ldap-auth-advanced": true, "mtls-auth": true, "header-cert-auth": true, "vault-auth": true, "saml": true,
}

// guard says which routes of a configuration refuse callers without credentials. It does
// not change. The zero value has no routes.
type guard struct {
	routes  map[string]*entity.Route // by id
	plugins map[place][]*entity.Plugin
	kinds   []string // of plugins
}

// place is where a plugin counts.
type place struct{ kind, service, route string }

// newGuard returns the guard of a normalised configuration, whose memory it uses.
func newGuard(c entity.Config) *guard {
	g := &guard{routes: map[string]*entity.Route{}, plugins: map[place][]*entity.Plugin{}}
	for i := range c.Routes {
		g.routes[c.Routes[i].ID] = &c.Routes[i]
	}
	for i := range c.Plugins {
		p := &c.Plugins[i]
		if !authenticators[p.Name] || (p.Enabled != nil && !*p.Enabled) || p.Consumer != nil {
			continue
		}
		at := place{p.Name, refID(p.Service), refID(p.Route)}
		g.plugins[at] = append(g.plugins[at], p)
		if !slices.Contains(g.kinds, p.Name) {
			g.kinds = append(g.kinds, p.Name)
		}
	}
	return g
}

func refID(ref *entity.Ref) string {
	if ref == nil {
		return ""
	}
	return ref.ID
}

// secures reports whether a route refuses callers without credentials, over each of its
// protocols. path is that of the operation at the gateway, with parameters in braces.
func (g *guard) secures(route *entity.Route, path string) bool {
	return len(route.Protocols) > 0 && !slices.ContainsFunc(route.Protocols, func(protocol string) bool {
		return !slices.ContainsFunc(g.kinds, func(kind string) bool { return g.enforces(kind, route, protocol, path) })
	})
}

// enforces is secures for one kind of plugin and one protocol. Of several plugins the most
// specific counts, as in Kong.
func (g *guard) enforces(kind string, route *entity.Route, protocol, path string) bool {
	service := refID(route.Service)
	for _, at := range []place{{kind, service, route.ID}, {kind, "", route.ID}, {kind, service, ""}, {kind, "", ""}} {
		for _, p := range g.plugins[at] {
			if len(p.Protocols) == 0 || slices.Contains(p.Protocols, protocol) {
				return refusesAnonymous(p, route, path)
			}
		}
	}
	return false
}

// refusesAnonymous reports whether a plugin has none of the settings with which it lets
// requests of an operation pass without credentials.
func refusesAnonymous(p *entity.Plugin, route *entity.Route, path string) bool {
	var config struct {
		Anonymous      json.RawMessage `json:"anonymous"`
		Filters        json.RawMessage `json:"filters"`
		UnauthAction   json.RawMessage `json:"unauth_action"`
		RunOnPreflight json.RawMessage `json:"run_on_preflight"`
	}
	if json.Unmarshal(p.Config, &config) != nil {
		return false
	}
	text := func(raw json.RawMessage) string { return strings.Trim(string(raw), `"`) }
	if named := text(config.Anonymous); named != "" && named != "null" {
		return false
	}
	if text(config.UnauthAction) == "pass" || (slices.Contains(route.Methods, "OPTIONS") && text(config.RunOnPreflight) == "false") {
		return false
	}
	var filters string
	if len(config.Filters) > 0 && json.Unmarshal(config.Filters, &filters) != nil {
		return false
	}
	for filter := range strings.SplitSeq(filters, ",") {
		if mayExempt(strings.TrimSpace(filter), path) {
			return false
		}
	}
	return true
}

// mayExempt reports whether a filter, a path without authentication or an expression of
// such paths, may match requests of an operation.
func mayExempt(filter, path string) bool {
	if filter == "" {
		return false
	}
	if strings.ContainsAny(filter, `%^$*+?()[]{}|\`) {
		return true // of expressions this is not computed
	}
	prefix, segments := strings.Split(strings.TrimRight(filter, "/"), "/"), strings.Split(path, "/")
	if len(prefix) > len(segments) {
		return false
	}
	for i, segment := range prefix {
		if segment != segments[i] && !strings.Contains(segments[i], "{") {
			return false
		}
	}
	return true
}

// watch has the guard of what the gateway serves, as of a little while ago.
type watch struct {
	gateway Gateway
	age     time.Duration // the greatest

	mu   sync.Mutex
	at   time.Time
	last *guard
}

// guard returns the guard of what the gateway serves, or one without routes if it cannot be
// read; then it is not read again for a while either.
func (w *watch) guard(ctx context.Context) *guard {
	w.mu.Lock()
	last := w.last
	fresh := last != nil && time.Since(w.at) < w.age
	w.mu.Unlock()
	if fresh {
		return last
	}
	began := time.Now()
	g := &guard{}
	if served, err := w.gateway.Config(ctx); err == nil {
		g = newGuard(served)
	} else if ctx.Err() != nil {
		return g // the caller gave up, which says nothing about the gateway
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == last { // not forgotten meanwhile
		w.last, w.at = g, began
	}
	return g
}

// forget has the next call read what the gateway serves: it has changed.
func (w *watch) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = &guard{}
	w.at = time.Time{}
}

// view are the operations of a version with their addresses, and with what the gateway
// enforces: what it serves, or for a version that it does not serve what its definition
// says. served may be nil.
func (c *content) view(state State, gatewayURL, listenPath string, served *guard) []Route {
	v := []Route{}
	for _, operation := range c.Operations {
		route := Route{Operation: operation}
		g, id := c.guard, c.ids[[2]string{operation.Method, definition.RoutePath(operation.Path, listenPath)}]
		if state.Routed() {
			route.URL = gatewayURL + listenPath + operation.Path
			if served != nil && served.routes[id] != nil {
				g = served
			}
		}
		if at := g.routes[id]; at != nil {
			route.Secured = g.secures(at, listenPath+operation.Path)
		}
		v = append(v, route)
	}
	return v
}

// differences are what a file claims about security and the gateway does not do, and the
// other way round, in sentences.
func differences(routes []Route, state State) []string {
	forwards, requires := "forwards", "requires"
	if !state.Routed() {
		forwards, requires = "would forward", "would require"
	}
	unprotected := some(routes, func(r Route) bool { return r.DeclaresSecurity && !r.Secured })
	undeclared := some(routes, func(r Route) bool { return r.Secured && !r.DeclaresSecurity })
	var lines []string
	if unprotected != "" {
		lines = append(lines, fmt.Sprintf("the definition declares security for %s, but the gateway %s requests without credentials: "+
			"it has no plugin there that authenticates callers", unprotected, forwards))
	}
	if undeclared != "" {
		lines = append(lines, fmt.Sprintf("the gateway %s credentials for %s, but the definition does not declare security for it, "+
			"so that clients do not know", requires, undeclared))
	}
	return lines
}

// some counts the routes that a function selects, and names the first; empty means none.
func some(routes []Route, selects func(Route) bool) string {
	i, n := slices.IndexFunc(routes, selects), 0
	for _, r := range routes {
		if selects(r) {
			n++
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return routes[i].Method + " " + routes[i].Path
	}
	return fmt.Sprintf("%d operations (the first is %s %s)", n, routes[i].Method, routes[i].Path)
}
