package kong_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gatewaytest"
	"github.com/iotenablers/enablers/apimgmt/kong"
)

func versions() []string { return []string{"2.8.5", "3.4.2", "3.9.0.1-enterprise-edition"} }

func TestGateway_passesTheSuite(t *testing.T) {
	for _, version := range versions() {
		for _, dbless := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s without a database: %v", version, dbless), func(t *testing.T) {
				gatewaytest.Run(t, func(t *testing.T) apimgmt.Gateway {
					f := newFake(version)
					f.dbless = dbless
					return f.open(t)
				})
			})
		}
	}
}

func yes() *bool { v := true; return &v }

// first is a definition; second is one of the same API, changed in all ways.
func first() entity.Config {
	return entity.Config{
		Services: []entity.Service{{Name: "weather", Host: "one.example"},
			{Name: "secure", Host: "tls.example", Protocol: "https", TLSVerify: yes()}},
		Routes: []entity.Route{
			{Name: "list", Methods: []string{"GET"}, Paths: []string{"/things"}, Service: &entity.Ref{Name: "weather"}},
			{Name: "one", Methods: []string{"GET"}, Paths: []string{"~/things/(?<id>[^#?/]+)$"}, Service: &entity.Ref{Name: "weather"}},
			{Name: "gone", Methods: []string{"DELETE"}, Paths: []string{"/gone"}, Service: &entity.Ref{Name: "weather"}},
			{Name: "moves", Methods: []string{"GET"}, Paths: []string{"/moves"}, Service: &entity.Ref{Name: "secure"}},
		},
		Plugins: []entity.Plugin{
			{Name: "oidc", Config: json.RawMessage(`{"client_secret":"wolpertinger"}`), Service: &entity.Ref{Name: "weather"}},
			{Name: "key-auth", Route: &entity.Ref{Name: "gone"}},
			{Name: "cors", Service: &entity.Ref{Name: "secure"}},
		},
		Consumers: []entity.Consumer{{Username: "caller"}},
		Keys:      []entity.Key{{Key: "squirrel", Consumer: &entity.Ref{Name: "caller"}}},
		Upstreams: []entity.Upstream{{Name: "pool"}},
		Targets:   []entity.Target{{Target: "192.0.2.1:80", Upstream: &entity.Ref{Name: "pool"}}},
	}
}

func second() entity.Config {
	return entity.Config{
		Services: []entity.Service{{Name: "weather", Host: "two.example"}, {Name: "fresh", Host: "fresh.example"}},
		Routes: []entity.Route{
			{Name: "list", Methods: []string{"GET"}, Paths: []string{"/things"}, Service: &entity.Ref{Name: "weather"}},
			{Name: "one", Methods: []string{"GET", "HEAD"}, Paths: []string{"~/things/(?<key>[^#?/]+)$"}, Service: &entity.Ref{Name: "weather"}},
			{Name: "made", Methods: []string{"POST"}, Paths: []string{"/made"}, Service: &entity.Ref{Name: "weather"}},
			{Name: "plain", Methods: []string{"POST"}, Paths: []string{"/a+b"}, Service: &entity.Ref{Name: "weather"}},
			{Name: "moves", Methods: []string{"GET"}, Paths: []string{"/moves"}, Service: &entity.Ref{Name: "fresh"}},
			{Name: "new", Methods: []string{"GET"}, Paths: []string{"/new"}, Service: &entity.Ref{Name: "fresh"}},
		},
		Plugins: []entity.Plugin{
			{Name: "oidc", Config: json.RawMessage(`{"client_secret":"wolpertinger","realm":"things"}`), Service: &entity.Ref{Name: "weather"}},
			{Name: "key-auth", Route: &entity.Ref{Name: "made"}},
			{Name: "cors", Service: &entity.Ref{Name: "fresh"}},
		},
		Consumers: []entity.Consumer{{Username: "caller"}},
		Keys:      []entity.Key{{Key: "chipmunk", Consumer: &entity.Ref{Name: "caller"}}},
		Upstreams: []entity.Upstream{{Name: "pool"}},
		Targets:   []entity.Target{{Target: "192.0.2.2:80", Upstream: &entity.Ref{Name: "pool"}}},
	}
}

// snapshot is what the fake serves.
func (f *fake) snapshot() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.served()
}

func (f *fake) count(table string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.tables[table])
}

func TestGateway_Publish_writesNothingWhenUnchanged(t *testing.T) {
	for _, version := range versions() {
		f := newFake(version)
		f.page = 2
		g := f.open(t)
		require.NoError(t, g.Publish(t.Context(), "enabler:w", second()))
		require.Len(t, f.snapshot(), 6)
		f.writes = nil
		require.NoError(t, f.open(t).Publish(t.Context(), "enabler:w", second()))
		require.Empty(t, f.writes, version)
		require.Equal(t, 2, f.count("services"), "the service of the publish is gone")
	}
}

func TestGateway_Publish_writesPathsForTheVersion(t *testing.T) {
	paths := []string{"/plain", "~/things/(?<id>[^#?/]+)$", "/a+b", "~/a.b", `~/a\+`, "/a(b)", "~/x/[0-9]+"}
	for _, version := range versions() {
		f := newFake(version)
		g := f.open(t)
		config := entity.Config{Services: []entity.Service{{Name: "s", Host: "h"}},
			Routes: []entity.Route{{Name: "r", Paths: paths, Service: &entity.Ref{Name: "s"}}}}
		require.NoError(t, g.Publish(t.Context(), "o", config))
		for _, route := range f.tables["routes"] {
			if f.old() {
				require.Equal(t, []any{"/plain", "/things/(?<id>[^#?/]+)$", `/a\+b`, "/a.b(?:)", `/a\+`, `/a\(b\)`, "/x/[0-9]+"}, route["paths"])
			} else {
				require.Equal(t, anys(paths), route["paths"])
			}
		}
		served, err := g.Config(t.Context())
		require.NoError(t, err)
		want := append([]string(nil), paths...)
		if f.old() {
			want[4] = "/a+" // which matches the same
		}
		require.Equal(t, want, served.Routes[0].Paths)
		f.writes = nil
		require.NoError(t, g.Publish(t.Context(), "o", config))
		require.Empty(t, f.writes)
	}
}

func anys(list []string) []any {
	var made []any
	for _, s := range list {
		made = append(made, s)
	}
	return made
}

// Whatever call fails for good, before or after Kong has done it, the routes of
// before serve, or all of the new ones; and publishing again puts all right.
func TestGateway_Publish_isAtomicWhenAnyCallFails(t *testing.T) {
	for _, version := range []string{"2.8.5", "3.4.2"} {
		for _, from := range []entity.Config{{}, first()} {
			if (version == "2.8.5" || testing.Short()) && len(from.Services) == 0 {
				continue // as with the other version
			}
			old, fresh := publishServed(t, version, from), publishServed(t, version, second())
			failed := 0
			for k := 1; ; k++ {
				f := newFake(version)
				g := f.open(t)
				require.NoError(t, g.Publish(t.Context(), "enabler:w", from))
				start := f.calls
				f.fail = func(n int, after bool) bool { return n-start >= k && n-start < k+4 && (k%2 == 0) == after }
				f.watch = func(f *fake) { requireGuarded(t, f, old, fresh) }
				err := g.Publish(t.Context(), "enabler:w", second())
				total := f.calls - start
				f.fail = nil
				if err != nil {
					failed++
					require.Equal(t, old, f.snapshot(), "after a failure at call %d: %v", k, err)
				} else {
					require.Equal(t, fresh, f.snapshot())
				}
				require.NoError(t, g.Publish(t.Context(), "enabler:w", second()), "publishing again, after a failure at call %d", k)
				require.Equal(t, fresh, f.snapshot())
				if err == nil && k > total {
					break
				}
			}
			require.Greater(t, failed, 15)
		}
	}
}

// A publisher that dies leaves no route without its plugins, and the next publish puts all right.
func TestGateway_Publish_repairsAnInterruptedPublish(t *testing.T) {
	synctest.Test(t, repairsAnInterruptedPublish)
}

func repairsAnInterruptedPublish(t *testing.T) {
	for _, from := range []entity.Config{{}, first()} {
		if testing.Short() && len(from.Services) == 0 {
			continue
		}
		old, fresh := publishServed(t, "3.4.2", from), publishServed(t, "3.4.2", second())
		for k := 1; ; k++ {
			f := newFake("3.4.2")
			g := f.open(t)
			require.NoError(t, g.Publish(t.Context(), "enabler:w", from))
			start := f.calls
			f.fail = func(n int, after bool) bool { return n-start >= k && !after }
			f.watch = func(f *fake) { requireGuarded(t, f, old, fresh) }
			err := g.Publish(t.Context(), "enabler:w", second())
			total := f.calls - start
			f.fail = nil
			if k > total {
				require.NoError(t, err)
				break
			}
			next, err := kong.New(kong.Config{URL: "http://kong.example", PublishTimeout: time.Second / 5, HTTPClient: &http.Client{Transport: f}})
			require.NoError(t, err)
			err = next.Publish(t.Context(), "enabler:w", second())
			if err != nil {
				require.ErrorIs(t, err, kong.ErrBusy, "after death at call %d", k)
			}
			time.Sleep(time.Second) // for longer than the lease
			require.NoError(t, next.Publish(t.Context(), "enabler:w", second()), "after death at call %d", k)
			require.Equal(t, fresh, f.snapshot(), "after death at call %d", k)
			require.Equal(t, 2, f.count("services"))
			require.Equal(t, 6, f.count("routes"))
		}
	}
}

func publishServed(t *testing.T, version string, config entity.Config) map[string]string {
	f := newFake(version)
	require.NoError(t, f.open(t).Publish(t.Context(), "enabler:w", config))
	return f.snapshot()
}

// requireGuarded fails if a route is served without the plugins that it has before
// or after. It is called by a handler, so it may not end the test.
func requireGuarded(t *testing.T, f *fake, old, fresh map[string]string) {
	names := func(text string) string { // the plugins without their settings and the host
		var found []string
		for _, name := range []string{"cors", "key-auth", "oidc"} {
			if strings.Contains(text, name+"{") {
				found = append(found, name)
			}
		}
		return strings.Join(found, ",")
	}
	for route, is := range f.served() {
		before, wasThere := old[route]
		after, willBe := fresh[route]
		if !((wasThere && names(is) == names(before)) || (willBe && names(is) == names(after))) {
			t.Errorf("%s is served with %q after %v", route, names(is), f.writes)
		}
	}
}

func TestGateway_Publish_keepsOtherEntities(t *testing.T) {
	f := newFake("3.4.2")
	f.tables["services"]["tcp"] = object{"id": "7b1a1a3e-0000-4000-8000-000000000001", "name": "raw", "protocol": "tcp",
		"host": "h", "port": 9.0, "enabled": true}
	f.tables["services"]["7b1a1a3e-0000-4000-8000-000000000001"] = f.tables["services"]["tcp"]
	delete(f.tables["services"], "tcp")
	f.tables["routes"]["7b1a1a3e-0000-4000-8000-000000000002"] = object{"id": "7b1a1a3e-0000-4000-8000-000000000002", "name": "look",
		"paths": []any{`~/a(?!b)`}, "protocols": []any{"http"}, "service": nil, "tags": nil}
	f.tables["routes"]["7b1a1a3e-0000-4000-8000-000000000003"] = object{"id": "7b1a1a3e-0000-4000-8000-000000000003", "name": "fine",
		"paths": []any{"/fine"}, "protocols": []any{"http"}, "service": nil, "tags": []any{"theirs"}, "expression": nil}
	was := maps.Clone(f.tables["routes"])
	g := f.open(t)
	served, err := g.Config(t.Context())
	require.NoError(t, err)
	require.Len(t, served.Routes, 1, "what cannot be said is left out")
	require.NoError(t, g.Publish(t.Context(), "o", first()))
	require.NoError(t, g.Publish(t.Context(), "o", second()))
	require.NoError(t, g.Publish(t.Context(), "o", entity.Config{}))
	require.Equal(t, was, f.tables["routes"])
	require.Equal(t, 1, f.count("services"))
	require.ErrorIs(t, g.Publish(t.Context(), "o", entity.Config{Services: []entity.Service{{Name: "raw", Host: "h"}}}),
		entity.ErrConflict, "the name is known to Kong alone")
}

func TestGateway_Publish_keepsTheRestWithoutADatabase(t *testing.T) {
	f := newFake("3.4.2")
	f.dbless = true
	f.extra = object{"certificates": []any{object{"id": "c"}}}
	g := f.open(t)
	require.NoError(t, g.Publish(t.Context(), "o", first()))
	require.NoError(t, g.Publish(t.Context(), "o", second()))
	require.Equal(t, []string{"POST /config", "POST /config"}, f.writes)
	require.Equal(t, []any{object{"id": "c"}}, f.extra["certificates"])
	require.Equal(t, publishServed(t, "3.4.2", second()), f.snapshot())
}

func TestGateway_Publish_namesTheEntityWithoutSecrets(t *testing.T) {
	f := newFake("3.4.2")
	g := f.open(t)
	bad := first()
	bad.Plugins[2].Config = json.RawMessage(`{"no_such_field":1}`)
	err := g.Publish(t.Context(), "o", bad)
	require.ErrorIs(t, err, entity.ErrInvalid)
	require.EqualError(t, err,
		`publish "o": create plugin "cors": Kong answers 400: schema violation (config.no_such_field: unknown field (1))`)
	require.Zero(t, f.count("services"))

	bad = first()
	bad.Plugins[0].Config = json.RawMessage(`{"client_secret":"wolpertinger","password":"wolpertinger"}`)
	err = g.Publish(t.Context(), "o", bad)
	require.ErrorContains(t, err, `create plugin "oidc": Kong answers 400: schema violation`)
	require.NotContains(t, err.Error(), "wolpertinger")

	f.tables["keyauth_credentials"]["x"] = object{"id": "7b1a1a3e-0000-4000-8000-000000000004", "key": "squirrel",
		"consumer": object{"id": "hidden"}}
	err = g.Publish(t.Context(), "o", first())
	require.ErrorIs(t, err, entity.ErrConflict)
	require.ErrorContains(t, err, "create keyauth_credential")
	require.NotContains(t, err.Error(), "squirrel")
}

func TestGateway_Publish_returnsRefusalsOfTheAdminAPI(t *testing.T) {
	for status, want := range map[int]error{401: kong.ErrForbidden, 403: kong.ErrForbidden, 200: kong.ErrAnswer} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Kong-Admin-Token") != "hidden-token" {
				t.Errorf("the token is not sent")
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"message":"Invalid authentication credentials"}`))
		}))
		defer server.Close()
		g, err := kong.New(kong.Config{URL: server.URL, Token: "hidden-token"})
		require.NoError(t, err)
		err = g.Publish(t.Context(), "o", first())
		require.ErrorIs(t, err, want)
		require.NotContains(t, err.Error(), "hidden-token")
	}
}

func TestGateway_Publish_waitsForAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("3.4.2")
		f.clock -= 3600 // which says nothing about the publish
		entered, leave := make(chan struct{}), make(chan struct{})
		once := false
		f.watch = func(f *fake) {
			if !once && strings.HasPrefix(f.writes[len(f.writes)-1], "POST /services") {
				once = true
				f.mu.Unlock()
				close(entered)
				<-leave
				f.mu.Lock()
			}
		}
		done := make(chan error, 1)
		go func() { done <- f.open(t).Publish(t.Context(), "o", first()) }()
		<-entered
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		err := f.open(t).Publish(ctx, "o", second())
		require.ErrorIs(t, err, kong.ErrBusy)
		require.True(t, errors.Is(err, context.DeadlineExceeded))
		close(leave)
		require.NoError(t, <-done)
		require.Equal(t, publishServed(t, "3.4.2", first()), f.snapshot())
	})
}
