package entity_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// api is what one owner publishes.
func api(name string, paths ...string) entity.Config {
	c := entity.Config{Services: []entity.Service{{Name: name, Host: name + ".example"}}}
	for _, path := range paths {
		c.Routes = append(c.Routes, entity.Route{Name: name + "-" + path[len(path)-1:], Service: &entity.Ref{Name: name},
			Paths: []string{path}, Methods: []string{"GET"}})
	}
	return c
}

func TestConfig_Replace_keepsOtherEntities(t *testing.T) {
	base, err := entity.Config{}.Replace("owner:a", api("a", "/a/x", "/a/y"))
	require.NoError(t, err)
	base, err = base.Replace("owner:b", api("b", "/b/x"))
	require.NoError(t, err)
	base.Services[0].CreatedAt = 7
	for _, route := range base.Routes {
		if route.Name == "a-y" { // which goes
			continue
		}
		base.Plugins = append(base.Plugins, entity.Plugin{Name: "cors", Route: &entity.Ref{ID: route.ID}})
	}
	next, err := base.Replace("owner:a", api("a", "/a/x", "/a/z"))
	require.NoError(t, err)

	names := []string{}
	for _, r := range next.Routes {
		names = append(names, r.Name)
	}
	require.Equal(t, []string{"a-x", "a-z", "b-x"}, names)
	require.Len(t, next.Plugins, 2) // those of a-x and of b-x
	require.EqualValues(t, 7, next.Services[0].CreatedAt)
	require.Equal(t, []string{"owner:a"}, next.Services[0].Tags)

	without, err := next.Without("owner:a")
	require.NoError(t, err)
	require.Len(t, without.Services, 1)
	require.Len(t, without.Routes, 1)
	require.Len(t, without.Plugins, 1)
}

func TestConfig_Replace_refusesTheNameOfAnotherOwner(t *testing.T) {
	base, err := entity.Config{}.Replace("owner:a", api("a", "/a/x"))
	require.NoError(t, err)
	_, err = base.Replace("owner:b", api("a", "/b"))
	require.ErrorIs(t, err, entity.ErrConflict)
}

func TestConfig_Replace_addsAKeyBesideThoseOfOthers(t *testing.T) {
	base, err := entity.Config{Consumers: []entity.Consumer{{Username: "ada"}}, Keys: []entity.Key{
		{Key: "1", Consumer: &entity.Ref{Name: "ada"}, Meta: entity.Meta{Tags: []string{"owner:a"}}},
		{Key: "2", Consumer: &entity.Ref{Name: "ada"}}}}.Normalize()
	require.NoError(t, err)
	next, err := base.Replace("owner:a", entity.Config{Keys: []entity.Key{{Key: "3", Consumer: &entity.Ref{Name: "ada"}},
		{Key: "4", Consumer: &entity.Ref{Name: "ada"}}}})
	require.NoError(t, err)
	require.Len(t, next.Keys, 3)
}

func TestDiff_ordersChangesByReferences(t *testing.T) {
	old := api("a", "/a/x", "/a/y")
	next := api("a", "/a/x", "/a/z")
	old.Plugins = []entity.Plugin{{Name: "oidc", Service: &entity.Ref{Name: "a"},
		Config: json.RawMessage(`{"client_secret":"one","realm":"r"}`)}}
	next.Plugins = []entity.Plugin{{Name: "oidc", Service: &entity.Ref{Name: "a"},
		Config: json.RawMessage(`{"client_secret":"two","realm":"r"}`)}}
	next.Services[0].Port = 8080
	next.Services[0].CreatedAt = 5
	changes, err := entity.Diff(old, next)
	require.NoError(t, err)
	lines := []string{}
	for _, c := range changes {
		lines = append(lines, c.String())
	}
	require.Equal(t, []string{"update service a: port", "create route a-z", "update plugin oidc: config.client_secret",
		"delete route a-y"}, lines)

	same, err := entity.Diff(old, old)
	require.NoError(t, err)
	require.Empty(t, same)

	gone, err := entity.Diff(old, entity.Config{})
	require.NoError(t, err)
	require.Equal(t, entity.KindPlugin, gone[0].Kind)
	require.Equal(t, entity.KindService, gone[len(gone)-1].Kind)
}

func TestRouteIndex_Conflicts_findsRoutesOfTheSameRequests(t *testing.T) {
	route := func(change func(*entity.Route)) entity.Config {
		r := entity.Route{Name: "r", Paths: []string{`~/things/(?<id>[^#?/]+)$`}, Methods: []string{"GET", "PUT"}}
		if change != nil {
			change(&r)
		}
		return entity.Config{Routes: []entity.Route{r}}
	}
	for name, tc := range map[string]struct {
		other    entity.Config
		conflict bool
	}{
		"same":            {route(nil), true},
		"parameter":       {route(func(r *entity.Route) { r.Paths = []string{`~/things/(?<key>[0-9]{1,3})$`} }), true},
		"no name":         {route(func(r *entity.Route) { r.Paths = []string{`~\/things\/([^\/]+)$`} }), true},
		"one of methods":  {route(func(r *entity.Route) { r.Methods = []string{"PUT"} }), true},
		"all methods":     {route(func(r *entity.Route) { r.Methods = nil }), true},
		"one of paths":    {route(func(r *entity.Route) { r.Paths = append([]string{"/other"}, r.Paths...) }), true},
		"https":           {route(func(r *entity.Route) { r.Protocols = []string{"https"} }), true},
		"grouped":         {route(func(r *entity.Route) { r.Paths = []string{`~/things(?<rest>/(?<key>[^/]+))$`} }), true},
		"grouped wholly":  {route(func(r *entity.Route) { r.Paths = []string{`~(/things/(?<key>[^/]+))$`} }), true},
		"grouped deeper":  {route(func(r *entity.Route) { r.Paths = []string{`~/things(?<rest>/(?<id>[^/]+)/x)$`} }), false},
		"grouped choice":  {route(func(r *entity.Route) { r.Paths = []string{`~/things(?<rest>/a|/(?<id>[^/]+))$`} }), false},
		"other method":    {route(func(r *entity.Route) { r.Methods = []string{"DELETE"} }), false},
		"other path":      {route(func(r *entity.Route) { r.Paths = []string{`~/thing/(?<id>[^#?/]+)$`} }), false},
		"deeper":          {route(func(r *entity.Route) { r.Paths = []string{`~/things/(?<id>[^#?/]+)/(?<x>.)$`} }), false},
		"host":            {route(func(r *entity.Route) { r.Hosts = []string{"a.example"} }), false},
		"header":          {route(func(r *entity.Route) { r.Headers = map[string][]string{"X-A": {"1"}} }), false},
		"grpc":            {route(func(r *entity.Route) { r.Protocols = []string{"grpc"} }), false},
		"prefix":          {route(func(r *entity.Route) { r.Paths = []string{"/things"} }), false},
		"without a path":  {route(func(r *entity.Route) { r.Paths = nil }), false},
		"expression of x": {route(func(r *entity.Route) { r.Paths = []string{`~/things/(?<id>[^#?/]+)/x$`} }), false},
	} {
		t.Run(name, func(t *testing.T) {
			found := entity.Conflicts(route(nil), tc.other)
			if tc.conflict {
				require.Len(t, found, 1)
				require.Equal(t, "r", found[0].Other)
				return
			}
			require.Empty(t, found)
		})
	}
}

func TestConfig_Redacted_removesSecretsOnly(t *testing.T) {
	c := things()
	c.Plugins[0].Config = json.RawMessage(
		`{"client_id":"kong","client_secret":"s3cret","session_secret":"s3cret","redis":{"password":"s3cret","port":6379},
"keys":["s3cret"],"key_names":["apikey"],"headers":["Authorization: s3cret","X-Colour: red"],"url":"https://ada:s3cret@host/x?y=1",
"credentials":true,"client_token":"{vault://env/token}","auth-token":"s3cret","token_endpoint_auth_method":"post","key":5}`)
	c.Keys[0].Key = "s3cret"
	normal, err := c.Normalize()
	require.NoError(t, err)
	var text bytes.Buffer
	shown := normal.Redacted()
	require.NoError(t, shown.WriteYAML(&text))
	require.NotContains(t, text.String(), "s3cret")
	for _, kept := range []string{"kong", "apikey", "X-Colour: red", "https://ada:[redacted]@host/x?y=1",
		"{vault://env/token}", "6379", "credentials: true"} {
		require.Contains(t, text.String(), kept)
	}

	back, err := shown.KeepSecrets(normal)
	require.NoError(t, err)
	require.Equal(t, normal, back)

	_, err = shown.KeepSecrets(entity.Config{})
	require.ErrorIs(t, err, entity.ErrInvalid)
	require.ErrorContains(t, err, "there is no older one to keep")
}

func TestKeepSecrets_prefersNewSecrets(t *testing.T) {
	made, err := entity.KeepSecrets(json.RawMessage(`{"a_secret":"new","b_secret":"[redacted]"}`),
		json.RawMessage(`{"a_secret":"old","b_secret":"kept"}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"a_secret":"new","b_secret":"kept"}`, string(made))
	_, err = entity.KeepSecrets(json.RawMessage(`{"keys":["[redacted]"]}`), json.RawMessage(`{"keys":["a","b"]}`))
	require.ErrorContains(t, err, "config.keys[0]")
}

func TestCutRest_takesOnlyTheLastGroupOff(t *testing.T) {
	for expression, want := range map[string][3]string{
		`~/a(?<rest>/b/(?<id>[^/]+))$`: {`~/a/b/(?<id>[^/]+)$`, `~/a`, "rest"},
		`~/a\.b(?P<rest>/b\))$`:        {`~/a\.b/b\)$`, `~/a\.b`, "rest"},
		`~/a(/[(])$`:                   {`~/a/[(]$`, `~/a`, ""},
		`~/a\(/b\)$`:                   {`~/a\(/b\)$`, "", ""},
		`~/a(/b)(/c)$`:                 {`~/a(/b)(/c)$`, "", ""},
		`~/a(/b|/c)$`:                  {`~/a(/b|/c)$`, "", ""},
		`~/(?<id>[^/]+)(?<rest>/b)$`:   {`~/(?<id>[^/]+)(?<rest>/b)$`, "", ""},
		`~/a(?<rest>/b)`:               {`~/a(?<rest>/b)`, "", ""},
		`~/a(/)$`:                      {`~/a/$`, `~/a`, ""},
		`~(/`:                          {`~(/`, "", ""},
	} {
		plain, before, name := entity.CutRest(expression)
		require.Equal(t, want, [3]string{plain, before, name}, expression)
	}
}
