package plugintest

import (
	"cmp"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// Options configure a [Stage].
type Options struct {
	// Kinds are the kinds that are installed.
	Kinds []gateway.Kind
	// Plugins are set for all requests, unless they name something themselves.
	Plugins []entity.Plugin
	// Config is what is served besides: consumers, keys and more.
	Config entity.Config
	// Service answers what is forwarded. Nil means one that sends the body back.
	Service http.Handler
	// Logger is the gateway's log and its access log. Nil means none.
	Logger *slog.Logger
}

// Stage is a gateway with a service named "service" behind a route named "route",
// which takes every path, and a server in front of it. It ends with the test.
type Stage struct {
	// Gateway is the gateway, and URL the address of the server in front of it.
	Gateway *gateway.Gateway
	URL     string

	t         testing.TB
	transport *http.Transport
}

// NewStage sets a stage.
func NewStage(t testing.TB, options Options) *Stage {
	t.Helper()
	if options.Service == nil {
		options.Service = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 needs it not
			_, _ = io.Copy(w, r.Body)
		})
	}
	behind := httptest.NewServer(options.Service)
	g, err := gateway.New(&gateway.Options{
		Kinds: options.Kinds, AllowUpstreams: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Logger: options.Logger, AccessLog: options.Logger,
	})
	require.NoError(t, err)
	config := options.Config.Clone()
	service := entity.Service{Name: "service"}
	require.NoError(t, service.SetURL(behind.URL))
	config.Services = append(config.Services, service)
	config.Routes = append(config.Routes, entity.Route{Name: "route", Paths: []string{"/"}, Service: &entity.Ref{Name: "service"}})
	config.Plugins = append(config.Plugins, options.Plugins...)
	require.NoError(t, g.Apply(config))
	front := httptest.NewServer(g)
	s := &Stage{Gateway: g, URL: front.URL, t: t, transport: &http.Transport{DisableCompression: true}}
	t.Cleanup(func() {
		s.transport.CloseIdleConnections()
		front.Close()
		require.NoError(t, g.Close())
		behind.Close()
	})
	return s
}

// Answer is the answer to a request.
type Answer struct {
	// Status, Header and Body are those of the response.
	Status int
	Header http.Header
	Body   string
}

// Do sends a request to a path of the stage. Header fields are given as
// "Name: value".
func (s *Stage) Do(method, path, body string, header ...string) Answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, strings.NewReader(body))
	require.NoError(s.t, err)
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			request.Host = cmp.Or(value, request.Host)
		}
		request.Header.Add(name, value)
	}
	response, err := s.transport.RoundTrip(request)
	require.NoError(s.t, err)
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return Answer{response.StatusCode, response.Header, string(data)}
}
