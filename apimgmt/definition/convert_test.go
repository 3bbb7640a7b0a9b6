package definition_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/definition"
	"github.com/iotenablers/enablers/apimgmt/entity"
)

// layered has servers, defaults and plugins at every level.
const layered = `
openapi: 3.1.0
info: {title: Layers, version: '1'}
servers: [{url: 'http://a.example/base'}, {url: 'http://b.example:81/base/'}, {url: 'https://c.example/base'}]
x-kong-tags: [one, two]
x-kong-name: Käse & more
x-kong-service-defaults: {retries: 3}
x-kong-route-defaults: {$ref: '#/components/x-kong/routes/plain'}
x-kong-plugin-cors: {config: {max_age: 1}}
x-kong-plugin-oidc: {config: {realm: top}}
paths:
  /plain:
    get: {responses: {'200': {description: x}}}
  /own:
    servers: [{url: 'https://own.example'}]
    x-kong-plugin-cors: {config: {max_age: 2}}
    get: {responses: {'200': {description: x}}}
    post:
      servers: [{url: 'wss://op.example/x'}]
      x-kong-plugin-oidc: {config: {realm: operation}}
      responses: {'200': {description: x}}
  /retries/{a}.{b}/{a-very-long-parameter-name-that-pcre-refuses}:
    x-kong-service-defaults: {retries: 0}
    x-kong-name: retries
    parameters:
    - {name: a, in: path, required: true, schema: {type: string}}
    - {name: b, in: path, required: true, schema: {type: string}}
    - {name: a-very-long-parameter-name-that-pcre-refuses, in: path, required: true, schema: {type: string}}
    put:
      x-kong-plugin-cors: {enabled: false}
      responses: {'200': {description: x}}
components:
  x-kong:
    routes:
      plain: {regex_priority: 7, preserve_host: true}
`

func convert(t testing.TB, text string, options definition.Options) entity.Config {
	t.Helper()
	config, err := definition.Convert(load(t, text), options)
	require.NoError(t, err)
	return config
}

// effective are the configurations of the enabled plugins that hold for a route.
func effective(c entity.Config, r entity.Route) map[string]string {
	made := map[string]string{}
	for _, route := range []bool{false, true} {
		for _, p := range c.Plugins {
			onRoute := p.Route != nil && p.Route.ID == r.ID
			onService := p.Service != nil && r.Service != nil && p.Service.ID == r.Service.ID && p.Route == nil
			if *p.Enabled && ((route && onRoute) || (!route && onService)) {
				made[p.Name] = string(p.Config)
			}
		}
	}
	return made
}

func routeNamed(t testing.TB, c entity.Config, name string) entity.Route {
	t.Helper()
	i := slices.IndexFunc(c.Routes, func(r entity.Route) bool { return r.Name == name })
	require.GreaterOrEqual(t, i, 0, "%s", name)
	return c.Routes[i]
}

func findService(t testing.TB, c entity.Config, r entity.Route) entity.Service {
	t.Helper()
	i := slices.IndexFunc(c.Services, func(s entity.Service) bool { return s.ID == r.Service.ID })
	require.GreaterOrEqual(t, i, 0)
	return c.Services[i]
}

func TestConvert_makesRoutesForPreflights(t *testing.T) {
	const text = `
openapi: 3.0.3
info: {title: a, version: "1"}
servers: [{url: https://a.example}]
x-kong-plugin-oidc: {}
paths:
  /a:
    get: {x-kong-plugin-cors: {}, x-kong-plugin-key-auth: {}, responses: {"200": {description: x}}}
    put: {x-kong-plugin-cors: {config: {preflight_continue: true}}, x-kong-plugin-key-auth: {}, responses: {"200": {description: x}}}
    post: {x-kong-plugin-cors: {enabled: false}, responses: {"200": {description: x}}}
  /b:
    get: {x-kong-plugin-cors: {}, responses: {"200": {description: x}}}
    options: {responses: {"200": {description: x}}}
`
	kinds := []string{"oidc", "cors", "key-auth"}
	require.Len(t, convert(t, text, definition.Options{Plugins: kinds}).Routes, 5, "as Kong's converter does")
	c := convert(t, text, definition.Options{Plugins: kinds, Preflights: true})
	require.Len(t, c.Routes, 7)
	get, put := routeNamed(t, c, "a_a_get_preflight"), routeNamed(t, c, "a_a_put_preflight")
	require.Equal(t, []string{"OPTIONS"}, get.Methods)
	require.Equal(t, routeNamed(t, c, "a_a_get").Paths, get.Paths)
	require.Equal(t, map[string][]string{"access-control-request-method": {"GET"}}, get.Headers)
	require.Equal(t, map[string]string{"cors": "{}", "oidc": "{}"}, effective(c, get))
	require.Equal(t, map[string]string{"cors": `{"preflight_continue":true}`, "key-auth": "{}", "oidc": "{}"}, effective(c, put))
}

func TestConvert_makesAServiceAndARouteForEachOperation(t *testing.T) {
	c := convert(t, things, definition.Options{Plugins: []string{"oidc", "cors"}, Tags: []string{"owner:x"}})
	require.Len(t, c.Services, 1)
	s := c.Services[0]
	require.Equal(t, "resource-provisioning", s.Name)
	require.Equal(t, []string{"owner:x"}, s.Tags)
	require.Equal(t, "https eu.things.example 8443 /v1", strings.Join([]string{s.Protocol, s.Host, "8443", s.Path}, " "))
	require.Equal(t, 8443, s.Port)
	require.Empty(t, c.Upstreams)

	list := routeNamed(t, c, "resource-provisioning_listthings")
	require.Equal(t, []string{"~/things$"}, list.Paths)
	require.Equal(t, []string{"GET"}, list.Methods)
	require.Equal(t, 200, list.RegexPriority)
	require.False(t, *list.StripPath)
	one := routeNamed(t, c, "resource-provisioning_things-thing-id_get")
	require.Equal(t, []string{"~/things/(?<thing_id>[^#?/]+)$"}, one.Paths)
	require.Equal(t, 100, one.RegexPriority)

	secured := map[string]string{"oidc": `{"bearer_only":"yes","client_id":"kong","client_secret":"hunter2","realm":"OpenAPI"}`}
	require.Equal(t, secured, effective(c, list))
	secured["cors"] = `{"origins":["*"]}`
	require.Equal(t, secured, effective(c, routeNamed(t, c, "resource-provisioning_things_post")))
}

func TestConvert_readsExtensionsOfEveryLevel(t *testing.T) {
	c := convert(t, layered, definition.Options{Plugins: []string{"oidc", "cors"}})
	plain := routeNamed(t, c, "käse-more_plain_get")
	require.Equal(t, 7, plain.RegexPriority)
	require.True(t, plain.PreserveHost)
	require.Equal(t, []string{"one", "two"}, plain.Tags)
	require.Equal(t, map[string]string{"cors": `{"max_age":1}`, "oidc": `{"realm":"top"}`}, effective(c, plain))
	s := findService(t, c, plain)
	require.Equal(t, 3, *s.Retries)
	require.Equal(t, "/base", s.Path)
	require.Equal(t, c.Upstreams[0].Name, s.Host)
	require.Len(t, c.Targets, 2) // the third has another protocol
	require.Equal(t, "a.example:80", c.Targets[0].Target)
	require.Equal(t, "b.example:81", c.Targets[1].Target)

	own := routeNamed(t, c, "käse-more_own_get")
	require.Equal(t, map[string]string{"cors": `{"max_age":2}`, "oidc": `{"realm":"top"}`}, effective(c, own))
	require.Equal(t, "own.example", findService(t, c, own).Host)

	operation := routeNamed(t, c, "käse-more_own_post")
	require.Equal(t, map[string]string{"cors": `{"max_age":2}`, "oidc": `{"realm":"operation"}`}, effective(c, operation))
	require.Equal(t, "op.example", findService(t, c, operation).Host)
	require.Equal(t, 443, findService(t, c, operation).Port)

	retries := routeNamed(t, c, "käse-more_retries_put")
	require.Equal(t, 6, retries.RegexPriority)
	require.Equal(t, 0, *findService(t, c, retries).Retries)
	require.Equal(t, s.Host, findService(t, c, retries).Host)
	require.Len(t, c.Upstreams, 1)
	require.Equal(t, map[string]string{"cors": `{"max_age":1}`, "oidc": `{"realm":"top"}`}, effective(c, retries))
	expression := regexp.MustCompile(strings.TrimPrefix(retries.Paths[0], "~"))
	require.Equal(t, []string{"/retries/x.y/z", "x", "y", "z"}, expression.FindStringSubmatch("/retries/x.y/z"))
	for _, name := range expression.SubexpNames() {
		require.LessOrEqual(t, len(name), 32)
	}
}

func TestConvert_makesPluginsOfSecurityRequirements(t *testing.T) {
	const text = `
openapi: 3.0.0
info: {title: a, version: '1'}
servers: [{url: http://a.example}]
security: [{idm: [read]}]
paths:
  /a:
    get: {responses: {'200': {description: x}}}
    put: {security: [], responses: {'200': {description: x}}}
    post: {security: [{idm: [write, read]}], responses: {'200': {description: x}}}
components:
  securitySchemes:
    idm:
      type: openIdConnect
      openIdConnectUrl: https://idm.example/.well-known/openid-configuration
      x-kong-security-openid-connect: {config: {client_id: [kong], scopes_required: [openid]}}
`
	options := definition.Options{SecurityPlugin: definition.OpenIDConnectPlugin, Plugins: []string{"openid-connect"}}
	c := convert(t, text, options)
	for method, scopes := range map[string]string{"get": `["openid","read"]`, "post": `["openid","read","write"]`} {
		require.Equal(t,
			map[string]string{
				"openid-connect": `{"client_id":["kong"],"issuer":"https://idm.example/.well-known/openid-configuration",` +
					`"scopes_required":` + scopes + `}`},
			effective(c, routeNamed(t, c, "a_a_"+method)))
	}
	require.Empty(t, effective(c, routeNamed(t, c, "a_a_put")))
	require.Empty(t, convert(t, text, definition.Options{}).Plugins)

	// The gateway's own plugin wants all scopes, and takes the rest from the plugin that
	// applies already.
	own := strings.Replace(text, "x-kong-security-openid-connect: {config: {client_id: [kong], scopes_required: [openid]}}",
		"x-kong-security-oidc: {config: {client_id: kong, client_secret: hunter2, scopes_required: openid}}", 1)
	options = definition.Options{SecurityPlugin: definition.OIDCPlugin}
	c = convert(t, own, options)
	for method, scopes := range map[string]string{"get": "openid read", "post": "openid read write"} {
		require.Equal(t,
			map[string]string{
				"oidc": `{"bearer_only":"yes","client_id":"kong","client_secret":"hunter2",` +
					`"discovery":"https://idm.example/.well-known/openid-configuration","scopes_required":["` + scopes + `"]}`},
			effective(c, routeNamed(t, c, "a_a_"+method)))
	}
	require.Empty(t, effective(c, routeNamed(t, c, "a_a_put")))
	shown, err := load(t, own).Redacted()
	require.NoError(t, err)
	require.NotContains(t, string(shown), "hunter2")
	c = convert(t, own+"x-kong-plugin-oidc: {config: {issuer: https://other.example, bearer_only: 'no', "+
		"scopes_required: [a b, c]}}\n", options)
	require.Equal(t,
		map[string]string{
			"oidc": `{"bearer_only":"no","issuer":"https://other.example","scopes_required":["a b read","c read"]}`},
		effective(c, routeNamed(t, c, "a_a_get")))
	require.Equal(t,
		map[string]string{
			"oidc": `{"bearer_only":"no","issuer":"https://other.example","scopes_required":["a b","c"]}`},
		effective(c, routeNamed(t, c, "a_a_put")))
	c = convert(t, own+"x-kong-plugin-oidc: {enabled: false, config: {issuer: https://other.example}}\n", options)
	require.Contains(t, effective(c, routeNamed(t, c, "a_a_get"))["oidc"], "idm.example", "a disabled plugin opens nothing")
	_, err = definition.Convert(load(t, strings.Replace(own, "scopes_required: openid", "scopes_required: {a: b}", 1)), options)
	require.ErrorContains(t, err, `"/components/securitySchemes/idm": scopes_required: strings are needed`)

	options = definition.Options{SecurityPlugin: definition.OpenIDConnectPlugin, Plugins: []string{"openid-connect"}}
	basic := strings.Replace(text, "type: openIdConnect", "type: http\n      scheme: basic", 1)
	basic = regexp.MustCompile(`(?m)^ +openIdConnectUrl.*\n`).ReplaceAllString(basic, "")
	_, err = definition.Convert(load(t, basic), options)
	require.ErrorContains(t, err, `"/components/securitySchemes/idm": security schemes of the type "http" cannot be converted`)
}

func TestConvert_namesThePlaceOfAnError(t *testing.T) {
	file := func(top, operation string) string {
		return "openapi: 3.0.0\ninfo: {title: a, version: '1'}\n" + top +
			"\npaths:\n  /a:\n    get:\n      responses: {'200': {description: x}}\n" + operation
	}
	const server = "servers: [{url: 'http://a.example'}]"
	for name, tc := range map[string]struct{ text, want string }{
		"relative":  {file("servers: [{url: /v1}]", ""), `line 3, "/servers": the server "/v1" is relative`},
		"no server": {file("", ""), `the server "/" is relative`},
		"plugin": {file(server, "      x-kong-plugin-lua: {}\n"),
			`line 8, "/paths/~1a/get/x-kong-plugin-lua": the gateway has no plugin "lua"`},
		"misspelt": {file(server, "      x-kong-plugin_oidc: {}\n"),
			`line 8, "/paths/~1a/get/x-kong-plugin_oidc": there is no such extension of Kong here`},
		"name": {file(server, "      x-kong-plugin-oidc:\n        name: cors\n"),
			`line 9, "/paths/~1a/get/x-kong-plugin-oidc/name": the plugin is named "cors" here`},
		"field": {file(server, "      x-kong-plugin-oidc:\n        confg: {}\n"),
			`line 9, "/paths/~1a/get/x-kong-plugin-oidc/confg": there is no such field`},
		"consumer": {file(server, "      x-kong-plugin-oidc:\n        consumer: ada\n"), `cannot be set by a definition`},
		"string":   {file(server, "      x-kong-plugin-oidc: 'yes'\n"), `an object is needed, this is a string`},
		"config": {file(server, "      x-kong-plugin-oidc: {config: []}\n"),
			`line 8, "/paths/~1a/get/x-kong-plugin-oidc": check plugin "oidc": config: is not a JSON object`},
		"reference": {file(server, "      x-kong-plugin-oidc: {$ref: '#/components/x-kong/none'}\n"), `leads nowhere`},
		"retries": {file(server+"\nx-kong-service-defaults: {retries: -1}", ""),
			`line 4, "/x-kong-service-defaults": check service "a": retries: -1 is not between`},
		"paths": {file(server+"\nx-kong-route-defaults: {paths: [/]}", ""),
			`line 4, "/x-kong-route-defaults/paths": the field cannot be set`},
		"handling": {file(server, "      x-kong-route-defaults: {path_handling: v9}\n"),
			`"/paths/~1a/get": check route "a_a_get": path_handling`},
		"tags":    {file(server+"\nx-kong-tags: [1]", ""), `"/x-kong-tags/0": a string is needed`},
		"x-name":  {file(server+"\nx-kong-name: '!'", ""), `a string with a letter`},
		"nothing": {"openapi: 3.0.0\ninfo: {title: a, version: '1'}\npaths: {}\n", `"/paths": there is no operation`},
		"targets": {file(server+"\nx-kong-upstream-defaults: {targets: [{target: 'a:0'}]}", ""),
			`"/x-kong-upstream-defaults/targets/0": check target "a:0"`},
		"first path": {file("servers: [{url: 'http://a.example/a//b'}]", ""), `has an empty segment`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := definition.Convert(load(t, tc.text), definition.Options{})
			require.ErrorIs(t, err, definition.ErrInvalid)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestConvert_checksEveryServerAddress(t *testing.T) {
	refused := errors.New("not there")
	asked := []string{}
	_, err := definition.Convert(load(t, layered),
		definition.Options{Plugins: []string{"oidc", "cors"}, Allow: func(host string, _ int) error {
			asked = append(asked, host)
			if host == "b.example" {
				return refused
			}
			return nil
		}})
	require.ErrorIs(t, err, refused)
	require.ErrorContains(t, err, `"/servers": send requests to b.example:81`)
	require.Contains(t, asked, "own.example")
	require.Contains(t, asked, "op.example")
}

func TestConvert_isDeterministic(t *testing.T) {
	options := definition.Options{Plugins: []string{"oidc", "cors"}}
	a := convert(t, layered, options)
	require.Equal(t, a, convert(t, layered, options))
	changes, err := entity.Diff(a, convert(t, layered, options))
	require.NoError(t, err)
	require.Empty(t, changes)
}

func TestConvert_namesEveryPathDifferently(t *testing.T) {
	const text = `
openapi: 3.0.0
info: {title: a, version: '1'}
servers: [{url: http://a.example}]
paths:
  /a/b: {servers: [{url: http://b.example}, {url: http://c.example}], get: {responses: {'200': {description: x}}}}
  /a-b: {servers: [{url: http://d.example}, {url: http://e.example}], get: {responses: {'200': {description: x}}}}
  /a/b/: {servers: [{url: http://f.example}, {url: http://g.example}], get: {responses: {'200': {description: x}}}}
`
	c := convert(t, text, definition.Options{})
	require.Len(t, c.Services, 3)
	require.Len(t, c.Routes, 3)
	require.Len(t, c.Upstreams, 3)
	require.Len(t, c.Targets, 6)
}
