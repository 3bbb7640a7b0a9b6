package scale_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/admin"
	"github.com/iotenablers/enablers/apimgmt/gateway/follow"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/storage"
)

const (
	planeToken   = "the-token-of-the-control-plane"
	planeAddress = "http://127.0.0.1:8101"
)

// plane is a control plane without a network: a transport that calls its handler.
type plane struct {
	store   *admin.Store
	handler http.Handler
	meter   *meter

	asked, sent, bytes atomic.Int64
}

func newPlane(t *testing.T) *plane {
	t.Helper()
	g, err := gateway.New(&gateway.Options{Kinds: plugin.Kinds()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	p := &plane{meter: &meter{}}
	p.store, err = admin.Open(t.Context(), admin.StoreConfig{Gateway: g, Documents: p.meter.documents(storage.NewMemoryDocuments())})
	require.NoError(t, err)
	api, err := admin.New(admin.Config{Store: p.store, Token: planeToken})
	require.NoError(t, err)
	p.handler = api.Handler()
	return p
}

func (p *plane) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.RemoteAddr, r.RequestURI, r.Body = "127.0.0.1:4000", r.URL.RequestURI(), http.NoBody
	r.Header.Set("Accept-Encoding", "gzip")
	answer := httptest.NewRecorder()
	p.handler.ServeHTTP(answer, r)
	p.asked.Add(1)
	p.bytes.Add(int64(answer.Body.Len()))
	if answer.Code == http.StatusOK {
		p.sent.Add(1)
	}
	response := answer.Result()
	if response.Header.Get("Content-Encoding") == "gzip" { // as http.Transport does
		body, err := gzip.NewReader(response.Body)
		response.Body = io.NopCloser(body)
		return response, err
	}
	return response, nil
}

// publish replaces what the plane serves: so many APIs, each a service with five routes and a
// rate limit. The text is the answer of a further route.
func (p *plane) publish(t *testing.T, apis int, text string) {
	t.Helper()
	config := entity.Config{
		Routes: []entity.Route{{Name: "version", Paths: []string{"/version"}}},
		Plugins: []entity.Plugin{{
			Name: "request-termination", Route: &entity.Ref{Name: "version"}, Config: fmt.Appendf(nil, `{"status_code":200,"body":%q}`, text),
		}},
	}
	for i := range apis {
		name := fmt.Sprintf("api-%05d", i)
		config.Services = append(config.Services, entity.Service{Name: name, Host: name + ".example.org"})
		for j := range 5 {
			config.Routes = append(config.Routes, entity.Route{
				Name: fmt.Sprintf("%s-%d", name, j), Methods: []string{"GET"}, Paths: []string{fmt.Sprintf("/%s/resources/%d", name, j)},
				Service: &entity.Ref{Name: name},
			})
		}
		config.Plugins = append(config.Plugins, entity.Plugin{
			Name: "rate-limiting", Service: &entity.Ref{Name: name}, Config: []byte(`{"minute":600,"policy":"local"}`),
		})
	}
	require.NoError(t, p.store.Publish(t.Context(), "scale", config))
}

// Each gateway asks every two seconds, and each question is one read at the store.
func TestGateways_followWithinTwoIntervals(t *testing.T) {
	heading("Gateways that follow one control plane, 10 APIs: virtual time",
		"gateways", "questions per second", "reads at the store per second",
		"bytes of a change", "until the median has a change, s", "until all have it, s")
	for _, gateways := range sizes([]int{1, 10, 30}, []int{100, 1000}) {
		t.Run(fmt.Sprint(gateways), func(t *testing.T) {
			folder := t.TempDir()
			synctest.Test(t, func(t *testing.T) { gatewayTrial(t, folder, gateways) })
		})
	}
}

func gatewayTrial(t *testing.T, folder string, gateways int) {
	p := newPlane(t)
	p.publish(t, 10, "before")
	ctx, stop := context.WithCancel(t.Context())
	var all []*gateway.Gateway
	for i := range gateways {
		f, err := follow.New(follow.Config{
			ControlPlane: planeAddress, Token: planeToken, File: filepath.Join(folder, fmt.Sprint(i)), HTTPClient: &http.Client{Transport: p},
		})
		require.NoError(t, err)
		g, err := gateway.New(&gateway.Options{Kinds: plugin.SharedKinds(plugin.Options{Secret: f.Secret})})
		require.NoError(t, err)
		f.Start(g)
		ended := make(chan error, 1)
		begin := rand.N(10 * time.Second)
		go func() {
			time.Sleep(begin)
			ended <- f.Run(ctx)
		}()
		defer func() {
			require.NoError(t, <-ended)
			require.NoError(t, g.Close())
		}()
		all = append(all, g)
	}
	defer stop()
	time.Sleep(15 * time.Second)
	const span = time.Minute
	asked, bytes, reads := p.asked.Load(), p.bytes.Load(), p.meter.read().gets
	time.Sleep(span)
	asked, bytes, reads = p.asked.Load()-asked, p.bytes.Load()-bytes, p.meter.read().gets-reads
	require.Zero(t, bytes)
	require.InEpsilon(t, float64(gateways)*span.Seconds()/2, float64(asked), 0.06)

	bytes = p.bytes.Load()
	p.publish(t, 10, "after")
	began, median := time.Now(), time.Duration(0)
	for have := 0; have < gateways; {
		time.Sleep(100 * time.Millisecond)
		have = 0
		for _, g := range all {
			answer := httptest.NewRecorder()
			g.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/version", nil))
			if answer.Body.String() == "after" {
				have++
			}
		}
		if have >= (gateways+1)/2 && median == 0 {
			median = time.Since(began)
		}
		require.Less(t, time.Since(began), 5*time.Second)
	}
	row(gateways, float64(asked)/span.Seconds(), reads/span.Seconds(),
		int(p.bytes.Load()-bytes), median.Seconds(), time.Since(began).Seconds())
}

// countedListener counts the bytes of its connections.
type countedListener struct {
	net.Listener
	bytes *atomic.Int64
}

func (l countedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countedConn{c, l.bytes}, err
}

type countedConn struct {
	net.Conn
	bytes *atomic.Int64
}

func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

func (c countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.bytes.Add(int64(n))
	return n, err
}

// What a question and a configuration cost, by the number of APIs.
func TestGateways_questionsCostTheSameForAllConfigurations(t *testing.T) {
	heading("Questions of a gateway over HTTP, by the configuration",
		"APIs", "routes", "bytes of a question and its 304", "processor time of both ends, µs", "MB of a configuration", "MB as it is sent",
		"its processor time at the control plane once compressed, ms", "and at the gateway, ms")
	var bytesBefore float64
	for _, apis := range sizes([]int{1, 100}, []int{1000, 10_000}) {
		p := newPlane(t)
		p.publish(t, apis, "now")
		var bytes atomic.Int64
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		server := &http.Server{Handler: p.handler, ReadHeaderTimeout: time.Minute}
		go func() { _ = server.Serve(countedListener{listener, &bytes}) }()
		ask := func(tag string) (*http.Response, int64) {
			address := "http://" + listener.Addr().String() + admin.DataPlanePath
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
			require.NoError(t, err)
			request.Header.Set("Authorization", "Bearer "+planeToken)
			request.Header.Set("If-None-Match", tag)
			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			n, err := io.Copy(io.Discard, response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			return response, n
		}
		whole, size := ask("")
		sent := bytes.Load()
		tag := whole.Header.Get("ETag")
		const questions = 2000
		before, cpu := bytes.Load(), processorTime()
		for range questions {
			response, _ := ask(tag)
			require.Equal(t, http.StatusNotModified, response.StatusCode)
		}
		perQuestion := float64(bytes.Load()-before) / questions
		cpu = processorTime() - cpu
		if bytesBefore != 0 {
			require.InEpsilon(t, bytesBefore, perQuestion, 0.05)
		}
		bytesBefore = perQuestion

		began := processorTime()
		for range 50 {
			request := httptest.NewRequest(http.MethodGet, planeAddress+admin.DataPlanePath, nil)
			request.Header.Set("Authorization", "Bearer "+planeToken)
			request.Header.Set("Accept-Encoding", "gzip")
			request.RemoteAddr = "127.0.0.1:4000"
			p.handler.ServeHTTP(httptest.NewRecorder(), request)
		}
		made := (processorTime() - began) / 50
		began = processorTime()
		f, err := follow.New(follow.Config{
			ControlPlane: "http://" + listener.Addr().String(), Token: planeToken, File: filepath.Join(t.TempDir(), "kept"),
		})
		require.NoError(t, err)
		g, err := gateway.New(&gateway.Options{Kinds: plugin.SharedKinds(plugin.Options{Secret: f.Secret})})
		require.NoError(t, err)
		f.Start(g)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.Run(ctx) }()
		require.Eventually(t, func() bool { return f.State().Serving }, time.Minute, time.Millisecond)
		taken := processorTime() - began - made
		stop()
		require.NoError(t, <-ended)
		require.NoError(t, g.Close())
		require.NoError(t, server.Close())
		row(apis, 5*apis+1, perQuestion, float64(cpu.Microseconds())/questions, float64(size)/1e6, float64(sent)/1e6, ms(made), ms(taken))
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
