package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
)

func TestGateway_readsForwardedFieldsOfTrustedProxiesOnly(t *testing.T) {
	for _, c := range []struct {
		trusted                []netip.Prefix
		client, proto, forHost string
		status                 int
	}{
		{nil, "127.0.0.1", "http", "api.example", http.StatusUpgradeRequired},
		{loopback(), "203.0.113.7", "https", "public.example", http.StatusOK},
	} {
		var got *http.Request
		service := newService(t, func(_ http.ResponseWriter, r *http.Request) { got = r })
		seen := make(chan string, 1)
		look := gateway.Kind{Name: "look", Compile: func(gateway.Setup) (gateway.Plugin, error) {
			return gateway.Plugin{Log: func(x *gateway.Exchange) { seen <- x.ClientIP().String() + " " + x.Scheme() }}, nil
		}}
		g, server := newGateway(t, gateway.Options{TrustedProxies: c.trusted, Kinds: []gateway.Kind{look}})
		config := routed(serviceAt(t, "s", service.URL), entity.Route{Paths: []string{"/"}, Protocols: []string{"https"}},
			entity.Plugin{Name: "look", Route: &entity.Ref{Name: "route"}})
		require.NoError(t, g.Apply(config))
		header := []string{"Host: api.example", "X-Forwarded-For: 198.51.100.1, 203.0.113.7, 127.0.0.9",
			"X-Forwarded-Proto: https", "X-Forwarded-Host: public.example"}
		response, _ := do(t, http.MethodGet, server.URL, "", header...)
		require.Equal(t, c.status, response.StatusCode)
		if c.status != http.StatusOK {
			continue
		}
		require.Equal(t, c.client+" "+c.proto, <-seen)
		require.Equal(t, c.client, got.Header.Get("X-Real-Ip"))
		require.Equal(t, c.proto, got.Header.Get("X-Forwarded-Proto"))
		require.Equal(t, c.forHost, got.Header.Get("X-Forwarded-Host"))
		require.Equal(t, "198.51.100.1, 203.0.113.7, 127.0.0.9, 127.0.0.1", got.Header.Get("X-Forwarded-For"))
	}
}

func TestGateway_releasesTheConfigurationWhenAPluginPanics(t *testing.T) {
	closed := make(chan struct{})
	kind := gateway.Kind{Name: "broken", Compile: func(gateway.Setup) (gateway.Plugin, error) {
		return gateway.Plugin{
			Access: func(*gateway.Exchange) *gateway.Answer { panic(http.ErrAbortHandler) },
			Close:  func() error { close(closed); return nil },
		}, nil
	}}
	g, server := newGateway(t, gateway.Options{Kinds: []gateway.Kind{kind}})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", "http://127.0.0.1:1"), anyPath(), entity.Plugin{Name: "broken"})))
	_, err := (&http.Transport{}).RoundTrip(httptest.NewRequest(http.MethodGet, server.URL, nil).WithContext(t.Context()))
	require.Error(t, err)
	require.NoError(t, g.Apply(entity.Config{}))
	<-closed
}

// discard is a response writer without a connection behind it.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Flush()                      {}

func TestGateway_ServeHTTP_allocatesLittle(t *testing.T) {
	service := newService(t, func(http.ResponseWriter, *http.Request) {})
	g, _ := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), anyPath())))
	request := httptest.NewRequest(http.MethodGet, "/things/17?unit=C", nil)
	w := &discard{http.Header{}}
	// The service is in this process and is counted as well: it makes about 20.
	require.Less(t, testing.AllocsPerRun(200, func() {
		clear(w.header)
		g.ServeHTTP(w, request)
	}), 60.0)
}
