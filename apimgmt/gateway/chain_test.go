package gateway_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// marker is a kind that writes the text of its configuration into the response.
func marker(name string, priority int) gateway.Kind {
	return gateway.Kind{Name: name, Priority: priority, Compile: func(s gateway.Setup) (gateway.Plugin, error) {
		c := struct{ Text string }{}
		if err := s.Decode(&c); err != nil {
			return gateway.Plugin{}, err
		}
		return gateway.Plugin{Head: func(x *gateway.Exchange) { x.Response().Header.Add("X-Marks", name+"="+c.Text) }}, nil
	}}
}

// login is a kind that takes the header field X-User for the consumer.
func login() gateway.Kind {
	return gateway.Kind{Name: "login", Priority: 1000, Compile: func(gateway.Setup) (gateway.Plugin, error) {
		return gateway.Plugin{Access: func(x *gateway.Exchange) *gateway.Answer {
			name := x.Request().Header.Get("X-User")
			consumer := x.Consumer(name)
			if name != "" && consumer == nil {
				return gateway.Refuse(http.StatusUnauthorized, "Unauthorized")
			}
			x.Authenticate(gateway.Identity{Consumer: consumer})
			return nil
		}}, nil
	}}
}

func text(s string) json.RawMessage { return json.RawMessage(`{"text":"` + s + `"}`) }

func TestGateway_runsTheMostSpecificPlugin(t *testing.T) {
	service := newService(t, func(http.ResponseWriter, *http.Request) {})
	g, server := newGateway(t, gateway.Options{Kinds: []gateway.Kind{login(), marker("m", 5)}})
	r, s, c := &entity.Ref{Name: "route"}, &entity.Ref{Name: "s"}, &entity.Ref{Name: "ann"}
	// In the order of Kong, the most specific first.
	scopes := []struct {
		name                     string
		route, service, consumer *entity.Ref
	}{
		{"route+service+consumer", r, s, c}, {"route+consumer", r, nil, c}, {"service+consumer", nil, s, c}, {"route+service", r, s, nil},
		{"consumer", nil, nil, c}, {"route", r, nil, nil}, {"service", nil, s, nil}, {"all", nil, nil, nil},
	}
	for first := range scopes {
		config := routed(serviceAt(t, "s", service.URL), anyPath(), entity.Plugin{Name: "login"})
		config.Consumers = []entity.Consumer{{Username: "ann"}, {Username: "bob"}}
		wantAnn, wantBob := "", ""
		for _, sc := range scopes[first:] {
			config.Plugins = append(config.Plugins, entity.Plugin{Name: "m", Config: text(sc.name), Route: sc.route,
				Service: sc.service, Consumer: sc.consumer})
			if wantAnn == "" {
				wantAnn = "m=" + sc.name
			}
			if wantBob == "" && sc.consumer == nil {
				wantBob = "m=" + sc.name
			}
		}
		require.NoError(t, g.Apply(config))
		response, _ := do(t, http.MethodGet, server.URL, "", "X-User: ann")
		require.Equal(t, wantAnn, response.Header.Get("X-Marks"))
		for _, who := range []string{"X-User: bob", "X-User: "} {
			response, _ = do(t, http.MethodGet, server.URL, "", who)
			require.Equal(t, wantBob, response.Header.Get("X-Marks"), who)
		}
	}
}

func TestGateway_runsPluginsByPriority(t *testing.T) {
	service := newService(t, func(http.ResponseWriter, *http.Request) { t.Error("the service was asked") })
	g, server := newGateway(t, gateway.Options{Kinds: []gateway.Kind{marker("late", 1), login(), marker("early", 2000),
		marker("also-late", 1)}})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), anyPath(),
		entity.Plugin{Name: "late"}, entity.Plugin{Name: "login"}, entity.Plugin{Name: "also-late"}, entity.Plugin{Name: "early"})))
	response, body := do(t, http.MethodGet, server.URL, "", "X-User: unknown")
	require.Equal(t, http.StatusUnauthorized, response.StatusCode)
	require.JSONEq(t, `{"message":"Unauthorized"}`, body)
	require.Equal(t, []string{"early=", "also-late=", "late="}, response.Header["X-Marks"])
}

func TestGateway_runsGlobalPluginsWithoutARoute(t *testing.T) {
	g, server := newGateway(t, gateway.Options{Kinds: []gateway.Kind{marker("m", 1)}})
	require.NoError(t, g.Apply(entity.Config{Plugins: []entity.Plugin{{Name: "m", Config: text("all")}}}))
	response, _ := do(t, http.MethodGet, server.URL, "")
	require.Equal(t, http.StatusNotFound, response.StatusCode)
	require.Equal(t, "m=all", response.Header.Get("X-Marks"))
}

func TestGateway_ignoresDisabledPluginsAndServices(t *testing.T) {
	service := newService(t, func(http.ResponseWriter, *http.Request) {})
	g, server := newGateway(t, gateway.Options{Kinds: []gateway.Kind{marker("m", 1)}})
	no := false
	config := routed(serviceAt(t, "s", service.URL), anyPath(), entity.Plugin{Name: "m", Enabled: &no})
	require.NoError(t, g.Apply(config))
	response, _ := do(t, http.MethodGet, server.URL, "")
	require.Empty(t, response.Header.Get("X-Marks"))
	config.Services[0].Enabled = &no
	require.NoError(t, g.Apply(config))
	response, _ = do(t, http.MethodGet, server.URL, "")
	require.Equal(t, http.StatusNotFound, response.StatusCode)
}

func TestGateway_letsPluginsChangeRequestAndResponse(t *testing.T) {
	var got *http.Request
	service := newService(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	})
	var mu sync.Mutex
	var logged int
	var in, out int64
	upper := gateway.Kind{Name: "upper", Compile: func(gateway.Setup) (gateway.Plugin, error) {
		return gateway.Plugin{
			Access: func(x *gateway.Exchange) *gateway.Answer {
				up := x.Upstream()
				up.Path, up.Query, up.Method = "/changed", "a=b", http.MethodPut
				up.Header.Set("X-Added", "1")
				up.Header.Del("X-Removed")
				up.Body, up.Length = strings.NewReader("other"), 5
				x.Set("key", "value")
				return nil
			},
			Head: func(x *gateway.Exchange) {
				x.Response().Header.Del("Content-Length")
				x.Response().Status = http.StatusAccepted
				x.Response().Header.Set("X-Value", x.Value("key").(string))
			},
			Body: func(_ *gateway.Exchange, body io.Reader) io.Reader {
				data, err := io.ReadAll(io.LimitReader(body, 100))
				if err != nil {
					return body
				}
				return bytes.NewReader(append(bytes.ToUpper(data), '!'))
			},
			Log: func(x *gateway.Exchange) {
				mu.Lock()
				defer mu.Unlock()
				logged = x.Response().Status
				in, out = x.Bytes()
			},
		}, nil
	}}
	g, server := newGateway(t, gateway.Options{Kinds: []gateway.Kind{upper}})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), anyPath(), entity.Plugin{Name: "upper"})))
	response, body := do(t, http.MethodPost, server.URL+"/x", "body", "X-Removed: 1")
	require.Equal(t, "OTHER!", body)
	require.Equal(t, http.StatusAccepted, response.StatusCode)
	require.Equal(t, "value", response.Header.Get("X-Value"))
	require.Equal(t, "PUT /changed?a=b", got.Method+" "+got.RequestURI)
	require.Equal(t, "1", got.Header.Get("X-Added"))
	require.Empty(t, got.Header.Get("X-Removed"))
	server.Close() // waits until the request is logged
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, http.StatusAccepted, logged)
	require.EqualValues(t, 5, in)
	require.EqualValues(t, 6, out)
}

func TestExchange_Key_findsTheConsumer(t *testing.T) {
	keys := gateway.Kind{Name: "keys", Compile: func(gateway.Setup) (gateway.Plugin, error) {
		return gateway.Plugin{Access: func(x *gateway.Exchange) *gateway.Answer {
			_, consumer, ok := x.Key(x.Request().Header.Get("Apikey"))
			if !ok {
				return gateway.Refuse(http.StatusUnauthorized, "Unauthorized")
			}
			return &gateway.Answer{Text: consumer.Username}
		}}, nil
	}}
	g, server := newGateway(t, gateway.Options{Kinds: []gateway.Kind{keys}})
	config := routed(serviceAt(t, "s", "http://127.0.0.1:1"), anyPath(), entity.Plugin{Name: "keys"})
	config.Consumers = []entity.Consumer{{Username: "ann"}, {Username: "bob"}}
	config.Keys = []entity.Key{
		{Key: "of-ann", Consumer: &entity.Ref{Name: "ann"}},
		{Meta: entity.Meta{CreatedAt: 1000}, Key: "old-of-bob", TTL: 60, Consumer: &entity.Ref{Name: "bob"}},
	}
	require.NoError(t, g.Apply(config))
	_, body := do(t, http.MethodGet, server.URL, "", "Apikey: of-ann")
	require.Equal(t, "ann", body)
	for _, key := range []string{"old-of-bob", "", "of-annx", "of-an"} {
		response, _ := do(t, http.MethodGet, server.URL, "", "Apikey: "+key)
		require.Equal(t, http.StatusUnauthorized, response.StatusCode, key)
	}
}
