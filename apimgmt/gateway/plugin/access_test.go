package plugin_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugintest"
)

func ExampleIPRestriction() {
	_, err := plugin.IPRestriction().Compile(gateway.Setup{Config: []byte(`{"allow":["192.0.2.0/33"]}`)})
	fmt.Println(err)
	// Output: config.allow: "192.0.2.0/33" is neither an address nor a range
}

func ExampleACL() {
	_, err := plugin.ACL().Compile(gateway.Setup{Config: []byte(`{"allow":["Developer"],"deny":["Open-Caller"]}`)})
	fmt.Println(err)
	// Output: config.allow: either allow or deny is required, not both
}

func ExampleDeprecation() {
	_, err := plugin.Deprecation().Compile(gateway.Setup{Config: []byte(`{"at":"2026-12-31","sunset":"2026-06-30"}`)})
	fmt.Println(err)
	// Output: config.sunset: 2026-06-30 is before 2026-12-31
}

func ExamplePrometheus() {
	_, err := plugin.Prometheus().Compile(gateway.Setup{Config: []byte(`{"latency_metrics":true}`)})
	fmt.Println(err)
	// Output: <nil>
}

func accessSubjects() []plugintest.Subject {
	return []plugintest.Subject{
		{
			Kind:  plugin.IPRestriction(),
			Valid: []string{`{"allow":["127.0.0.1","2001:db8::/32","::ffff:192.0.2.1"]}`, `{"deny":["127.0.0.0/8"],"status":404,"message":"no"}`},
			Invalid: map[string]string{
				`{}`: "config.allow", `{"allow":["localhost"]}`: "config.allow", `{"deny":["::ffff:0:0/90"]}`: "config.deny",
				`{"deny":["fe80::1%eth0"]}`:     "config.deny",
				`{"deny":["::1"],"status":200}`: "config.status",
			},
		},
		{
			Kind: plugin.ACL(), Valid: []string{`{"allow":["Developer"]}`, `{"deny":["a","b"],"hide_groups_header":true}`},
			Invalid: map[string]string{`{}`: "config.allow", `{"allow":["a"],"deny":["b"]}`: "config.allow", `{"allow":"a"}`: "config.allow"},
		},
		{
			Kind: plugin.Deprecation(), Valid: []string{`{"at":"2025-01-31"}`,
				`{"at":"2025-01-31T12:00:00+02:00","sunset":"2027-01-01","link":"https://api.example/docs?v=2"}`},
			Invalid: map[string]string{
				`{}`: "config.at", `{"at":"soon"}`: "config.at", `{"at":"2026-01-01","sunset":"x"}`: "config.sunset",
				`{"at":"2026-01-01","sunset":"2025-01-01"}`:                      "config.sunset",
				`{"at":"2026-01-01","link":"https://a.example/>; rel=\"next\""}`: "config.link",
				`{"at":"2026-01-01","link":"/a\r\nX: 1"}`:                        "config.link",
			},
		},
		{Kind: plugin.Prometheus(), Valid: []string{`{}`, `{"per_consumer":true,"status_code_metrics":true}`},
			Invalid: map[string]string{`{"per_consumer":1}`: "config.per_consumer"}},
	}
}

func TestIPRestriction_allowsAndDenies(t *testing.T) {
	behind := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(behind.Close)
	serve := func(config, remote string, forwarded ...string) int {
		g, err := gateway.New(&gateway.Options{
			Kinds: plugin.Kinds(), TrustedProxies: []netip.Prefix{
				netip.MustParsePrefix("10.0.0.0/8")}, AllowUpstreams: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, g.Close()) })
		service := entity.Service{Name: "s"}
		require.NoError(t, service.SetURL(behind.URL))
		require.NoError(t, g.Apply(entity.Config{
			Services: []entity.Service{service}, Routes: []entity.Route{{Name: "r", Paths: []string{"/"}, Service: &entity.Ref{Name: "s"}}},
			Plugins: []entity.Plugin{{Name: "ip-restriction", Config: []byte(config)}},
		}))
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		request.RemoteAddr = remote
		for _, f := range forwarded {
			request.Header.Add("X-Forwarded-For", f)
		}
		recorder := httptest.NewRecorder()
		g.ServeHTTP(recorder, request)
		return recorder.Code
	}
	const allow = `{"allow":["192.0.2.0/24","2001:db8::/32"],"deny":["192.0.2.66"]}`
	const ok, no = http.StatusOK, http.StatusForbidden
	for _, c := range []struct {
		remote    string
		forwarded []string
		want      int
	}{
		{"192.0.2.1:1", nil, ok}, {"192.0.2.66:1", nil, no}, {"198.51.100.1:1", nil, no}, {"[2001:db8::1]:1", nil, ok},
		{"[2001:db9::1]:1", nil, no},
		{"[::ffff:192.0.2.1]:1", nil, ok}, {"[::ffff:192.0.2.66]:1", nil, no}, {"nonsense", nil, no},
		{"198.51.100.1:1", []string{"192.0.2.1"}, no}, {"10.0.0.1:1", []string{"192.0.2.1"}, ok},
		{"10.0.0.1:1", []string{"192.0.2.1, 198.51.100.1"}, no},
		{"10.0.0.1:1", []string{"192.0.2.1", "198.51.100.1"}, no}, {"10.0.0.1:1", []string{"192.0.2.1, 10.0.0.2"}, ok},
		{"10.0.0.1:1", []string{"192.0.2.66"}, no},
	} {
		require.Equal(t, c.want, serve(allow, c.remote, c.forwarded...), "%s %v", c.remote, c.forwarded)
	}
	require.Equal(t, http.StatusTeapot, serve(`{"deny":["::/0","0.0.0.0/0"],"status":418}`, "192.0.2.1:1"))
}

func TestACL_groupsAreRolesAndTags(t *testing.T) {
	idp := newIssuer(t)
	token := "Authorization: Bearer " + idp.token(t, nil)
	for config, want := range map[string]int{
		`{"allow":["Developer"]}`: http.StatusOK, `{"allow":["Open-Caller"]}`: http.StatusForbidden,
		`{"deny":["Developer"]}`: http.StatusForbidden, `{"deny":["Open-Caller"]}`: http.StatusOK,
	} {
		s := plugintest.NewStage(t, plugintest.Options{Kinds: plugin.Kinds(), Service: echo(), Plugins: []entity.Plugin{
			{Name: "oidc", Config: []byte(idp.config(nil))}, {Name: "acl", Config: []byte(config)},
		}})
		a := s.Do(http.MethodGet, "/", "", token, "X-Consumer-Groups: Developer, Open-Caller")
		require.Equal(t, want, a.Status, config)
		if want == http.StatusOK {
			require.Equal(t, []string{"Developer"}, seen(t, a)["X-Consumer-Groups"])
		}
	}
	s := plugintest.NewStage(t, plugintest.Options{Kinds: plugin.Kinds(), Config: entity.Config{
		Consumers: []entity.Consumer{{Username: "ada", Meta: entity.Meta{Tags: []string{"group:staff", "admin"}}}},
		Keys:      []entity.Key{{Key: "key-of-ada", Consumer: &entity.Ref{Name: "ada"}}},
	}, Plugins: []entity.Plugin{{Name: "key-auth"}, {Name: "acl", Config: []byte(`{"allow":["staff"]}`)}}})
	require.Equal(t, http.StatusOK, s.Do(http.MethodGet, "/", "", "apikey: key-of-ada").Status)
	s = stage(t, "acl", `{"deny":["x"]}`)
	require.Equal(t, http.StatusUnauthorized, s.Do(http.MethodGet, "/", "").Status)
}

func TestOIDC_keepsClaimsFromSplittingTheRequest(t *testing.T) {
	idp := newIssuer(t)
	s := plugintest.NewStage(t, plugintest.Options{Kinds: plugin.Kinds(), Service: echo(), Plugins: []entity.Plugin{
		{Name: "oidc", Config: []byte(idp.config(nil))}, {Name: "acl", Config: []byte(`{"deny":["x"]}`)},
	}})
	evil := "a\r\nX-Admin: 1\r\n\r\nGET / HTTP/1.1\x00"
	header := seen(t, s.Do(http.MethodGet, "/", "", "Authorization: Bearer "+idp.token(t, map[string]any{
		"sub": evil, "preferred_username": evil, "realm_access": map[string]any{"roles": []string{evil}},
	})))
	require.NotContains(t, header, "X-Admin")
	require.Equal(t, "a  X-Admin: 1    GET / HTTP/1.1", header.Get("X-Consumer-Groups"))
}

func TestDeprecation_setsTheHeaderFields(t *testing.T) {
	s := stage(t, "deprecation", `{"at":"2023-06-30T23:59:59Z","sunset":"2024-06-30","link":"https://api.example/old"}`)
	a := s.Do(http.MethodGet, "/", "")
	require.Equal(t, []string{"@1688169599"}, a.Header["Deprecation"])
	require.Equal(t, []string{"Sun, 30 Jun 2024 00:00:00 GMT"}, a.Header["Sunset"])
	require.Equal(t, []string{`<https://api.example/old>; rel="deprecation"`, `<https://api.example/old>; rel="sunset"`}, a.Header["Link"])
}
