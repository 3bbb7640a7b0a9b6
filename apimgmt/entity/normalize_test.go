package entity_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// things is a small configuration whose references are by name.
func things() entity.Config {
	return entity.Config{
		Services: []entity.Service{{Name: "things", Host: "Things.example"}},
		Routes: []entity.Route{
			{Name: "things-list", Service: &entity.Ref{Name: "things"}, Paths: []string{"/things"}, Methods: []string{"GET"}},
			{Service: &entity.Ref{Name: "things"}, Paths: []string{`~/things/(?<id>[^/]+)$`}},
		},
		Plugins: []entity.Plugin{
			{Name: "key-auth", Service: &entity.Ref{Name: "things"}},
			{Name: "cors", Config: json.RawMessage(`{ "origins" : ["*"], "max_age": 10000000000000001 }`)},
		},
		Consumers: []entity.Consumer{{Username: "ada"}},
		Keys:      []entity.Key{{Key: "open sesame", Consumer: &entity.Ref{Name: "ada"}}},
		Upstreams: []entity.Upstream{{Name: "things.pool", Healthchecks: &entity.Healthchecks{}}},
		Targets:   []entity.Target{{Target: "10.0.0.1", Upstream: &entity.Ref{Name: "things.pool"}}},
	}
}

func TestConfig_Normalize_fillsEveryDefault(t *testing.T) {
	c, err := things().Normalize()
	require.NoError(t, err)

	s := c.Services[0]
	require.Equal(t, "http", s.Protocol)
	require.Equal(t, "things.example", s.Host)
	require.Equal(t, 80, s.Port)
	require.True(t, *s.Enabled)
	require.True(t, *s.TLSVerify)
	require.Equal(t, 5, *s.Retries)
	require.Equal(t, []int{60000, 60000, 60000}, []int{s.ConnectTimeout, s.ReadTimeout, s.WriteTimeout})

	require.Empty(t, c.Routes[0].Name)
	r := c.Routes[1]
	require.Equal(t, "things-list", r.Name)
	require.Equal(t, &entity.Ref{ID: s.ID}, r.Service)
	require.Equal(t, []string{"http", "https"}, r.Protocols)
	require.True(t, *r.StripPath)
	require.Equal(t, "v0", r.PathHandling)
	require.Equal(t, 426, r.HTTPSRedirectStatusCode)

	require.JSONEq(t, `{"origins":["*"],"max_age":10000000000000001}`, string(c.Plugins[0].Config))
	require.Contains(t, string(c.Plugins[0].Config), "10000000000000001")
	require.Equal(t, "{}", string(c.Plugins[1].Config))
	require.Equal(t, &entity.Ref{ID: s.ID}, c.Plugins[1].Service)
	require.Equal(t, &entity.Ref{ID: c.Consumers[0].ID}, c.Keys[0].Consumer)
	require.Equal(t, "10.0.0.1:8000", c.Targets[0].Target)
	require.Equal(t, 100, *c.Targets[0].Weight)
	require.Equal(t, "round-robin", c.Upstreams[0].Algorithm)
	require.Equal(t, []int{429, 500, 503}, c.Upstreams[0].Healthchecks.Passive.Unhealthy.HTTPStatuses)
}

func TestConfig_Normalize_isIdempotent(t *testing.T) {
	once, err := things().Normalize()
	require.NoError(t, err)
	twice, err := once.Normalize()
	require.NoError(t, err)
	require.Equal(t, once, twice)
}

func TestConfig_Normalize_givesTheSameIDsInAnyOrder(t *testing.T) {
	a, err := things().Normalize()
	require.NoError(t, err)
	reversed := things()
	reversed.Routes[0], reversed.Routes[1] = reversed.Routes[1], reversed.Routes[0]
	reversed.Plugins[0], reversed.Plugins[1] = reversed.Plugins[1], reversed.Plugins[0]
	b, err := reversed.Normalize()
	require.NoError(t, err)
	require.Equal(t, a, b)
}

func TestConfig_Normalize_keepsItsReceiver(t *testing.T) {
	c := things()
	before, err := json.Marshal(c)
	require.NoError(t, err)
	made, err := c.Normalize()
	require.NoError(t, err)
	made.Routes[0].Paths[0] = "/changed"
	made.Plugins[0].Config[0] = '['
	after, err := json.Marshal(c)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

func TestConfig_Normalize_namesTheFieldOfAnError(t *testing.T) {
	on := func(change func(*entity.Config)) entity.Config {
		c := things()
		change(&c)
		return c
	}
	for name, tc := range map[string]struct {
		config entity.Config
		want   string
		is     error
	}{
		"name": {on(func(c *entity.Config) { c.Routes[0].Name = "a b" }), `check route "a b": name: "a b" has the character ' '`, nil},
		"protocol": {on(func(c *entity.Config) { c.Services[0].Protocol = "gopher" }),
			`check service "things": protocol: "gopher" is not one of http`, nil},
		"host":    {on(func(c *entity.Config) { c.Services[0].Host = "a b" }), `host: "a b" is neither a host name nor an address`, nil},
		"no host": {on(func(c *entity.Config) { c.Services[0].Host = "" }), `host: is required`, nil},
		"port":    {on(func(c *entity.Config) { c.Services[0].Port = 70000 }), `port: 70000 is not between 0 and 65535`, nil},
		"path":    {on(func(c *entity.Config) { c.Services[0].Path = "a" }), `path: "a" should start with "/"`, nil},
		"up":      {on(func(c *entity.Config) { c.Services[0].Path = "/a/../b" }), `path: "/a/../b" is not normal`, nil},
		"route path": {on(func(c *entity.Config) { c.Routes[0].Paths = []string{"x"} }),
			`paths[0]: "x" should start with "/" (a prefix) or "~/"`, nil},
		"regex":       {on(func(c *entity.Config) { c.Routes[0].Paths = []string{"~/x("} }), `paths[0]: "~/x(": error parsing regexp`, nil},
		"two slashes": {on(func(c *entity.Config) { c.Routes[0].Paths = []string{"/x//y"} }), `has an empty segment`, nil},
		"query":       {on(func(c *entity.Config) { c.Routes[0].Paths = []string{"/x?y"} }), `characters that paths do not have`, nil},
		"wildcard":    {on(func(c *entity.Config) { c.Routes[0].Hosts = []string{"a.*.b"} }), `hosts[0]: "a.*.b" is not a host name`, nil},
		"wildcards":   {on(func(c *entity.Config) { c.Routes[0].Hosts = []string{"*.a.*"} }), `hosts[0]:`, nil},
		"method":      {on(func(c *entity.Config) { c.Routes[0].Methods = []string{"get"} }), `methods[0]: "get" is not in upper case`, nil},
		"host header": {on(func(c *entity.Config) { c.Routes[0].Headers = map[string][]string{"Host": {"a"}} }),
			`headers.host: the host is matched by hosts`, nil},
		"matches all": {on(func(c *entity.Config) { c.Routes[0].Paths, c.Routes[0].Methods = nil, nil }), `at least one of methods`, nil},
		"handling":    {on(func(c *entity.Config) { c.Routes[0].PathHandling = "v2" }), `path_handling: "v2" is not one of v0, v1`, nil},
		"weight":      {on(func(c *entity.Config) { w := -1; c.Targets[0].Weight = &w }), `weight: -1 is not between 0 and 65535`, nil},
		"target":      {on(func(c *entity.Config) { c.Targets[0].Target = "a:0" }), `target: "a:0" is not a host with a port`, nil},
		"upstream": {on(func(c *entity.Config) { c.Upstreams[0].Name = "10.0.0.1"; c.Targets = nil }),
			`name: "10.0.0.1" is not a host name`, nil},
		"algorithm": {on(func(c *entity.Config) { c.Upstreams[0].Algorithm = "dice" }), `algorithm: "dice" is not one of`, nil},
		"hash":      {on(func(c *entity.Config) { c.Upstreams[0].HashOn = "cookie" }), `hash_on_cookie: the name of a cookie is needed`, nil},
		"status": {on(func(c *entity.Config) { c.Upstreams[0].Healthchecks.Active.Healthy.HTTPStatuses = []int{99} }),
			`healthchecks.active.healthy.http_statuses[0]: 99 is not between 100 and 999`, nil},
		"config": {on(func(c *entity.Config) { c.Plugins[0].Config = json.RawMessage(`[]`) }), `config: is not a JSON object`, nil},
		"tag":    {on(func(c *entity.Config) { c.Services[0].Tags = []string{"a,b"} }), `tags[0]: "a,b" has a comma`, nil},
		"id":     {on(func(c *entity.Config) { c.Consumers[0].ID = "1" }), `id: "1" is not a UUID`, nil},
		"without name": {on(func(c *entity.Config) { c.Consumers = append(c.Consumers, entity.Consumer{}) }),
			`username: a username or a custom_id is needed`, nil},
		"two names": {on(func(c *entity.Config) { c.Services = append(c.Services, c.Services[0]) }),
			`name: another service has "things"`, entity.ErrConflict},
		"two of it": {on(func(c *entity.Config) { c.Plugins = append(c.Plugins, c.Plugins[0]) }),
			`there is another plugin "key-auth" on the same`, entity.ErrConflict},
		"two keys": {on(func(c *entity.Config) { c.Keys = append(c.Keys, c.Keys[0]) }),
			`key: another consumer or credential has the same key`, entity.ErrConflict},
		"no service": {on(func(c *entity.Config) { c.Services = nil }), `service: there is no such entity named "things"`, entity.ErrReference},
		"no id": {on(func(c *entity.Config) { c.Routes[0].Service = &entity.Ref{ID: "3d5a1dfa-0f52-4e4e-9ab4-0bbf8d3b1a52"} }),
			`service: there is no such entity with the id "3d5a1dfa`, entity.ErrReference},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tc.config.Normalize()
			require.ErrorIs(t, err, entity.ErrInvalid)
			require.ErrorContains(t, err, tc.want)
			if tc.is != nil {
				require.ErrorIs(t, err, tc.is)
			}
			var field *entity.FieldError
			require.ErrorAs(t, err, &field)
			require.NotContains(t, err.Error(), "open sesame")
		})
	}
}

func TestConfig_Normalize_boundsTheNumberOfErrors(t *testing.T) {
	c := entity.Config{}
	for range 1000 {
		c.Services = append(c.Services, entity.Service{Protocol: "gopher"})
	}
	_, err := c.Normalize()
	require.Error(t, err)
	require.Less(t, strings.Count(err.Error(), "\n"), 110)
	require.ErrorContains(t, err, "more")
}

func TestConfig_Normalize_acceptsEveryKindOfHost(t *testing.T) {
	c := entity.Config{Routes: []entity.Route{{Name: "r",
		Hosts: []string{"a.example", "*.a.example", "a.*", "a.example:8000", "[::1]:80", "127.0.0.1"}}}}
	_, err := c.Normalize()
	require.NoError(t, err)
}

func TestService_SetURL_splitsTheAddress(t *testing.T) {
	var s entity.Service
	require.NoError(t, s.SetURL("https://things.example:8443/base/"))
	require.Equal(t, entity.Service{Protocol: "https", Host: "things.example", Port: 8443, Path: "/base/"}, s)
	for _, bad := range []string{"", "things", "http://", "http://a:b@c", "http://a?b", "http://a:99999", "http://a:x", "\x7f"} {
		require.True(t, errors.Is(s.SetURL(bad), entity.ErrInvalid), bad)
	}
}
