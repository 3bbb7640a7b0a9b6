package follow_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/admin"
	"github.com/iotenablers/enablers/apimgmt/gateway/follow"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/storage"
)

const token = "the-token-of-the-control-plane"

// patience is how long a test waits for what must happen. It ends a test that hangs.
const patience = 30 * time.Second

// plane is a control plane that can go away.
type plane struct {
	*httptest.Server
	store *admin.Store
	away  atomic.Bool
	asked atomic.Int32
	sent  atomic.Int32 // configurations
}

func newPlane(t *testing.T, kinds ...gateway.Kind) *plane {
	t.Helper()
	return planeOver(t, storage.NewMemoryDocuments(), kinds...)
}

func planeOver(t *testing.T, docs storage.Documents, kinds ...gateway.Kind) *plane {
	t.Helper()
	g, err := gateway.New(&gateway.Options{Kinds: append(plugin.Kinds(), kinds...)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	p := &plane{}
	p.store, err = admin.Open(t.Context(), admin.StoreConfig{Gateway: g, Documents: docs})
	require.NoError(t, err)
	api, err := admin.New(admin.Config{Store: p.store, Token: token})
	require.NoError(t, err)
	handler := api.Handler()
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		if p.away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		handler.ServeHTTP(&counting{w, &p.sent}, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// counting counts an answer before the data plane can have it.
type counting struct {
	http.ResponseWriter
	sent *atomic.Int32
}

func (c *counting) WriteHeader(status int) {
	if status == http.StatusOK {
		c.sent.Add(1)
	}
	c.ResponseWriter.WriteHeader(status)
}

// serve publishes a route whose answer is a text.
func (p *plane) serve(t *testing.T, text string, more ...entity.Plugin) {
	t.Helper()
	config := entity.Config{
		Routes:  []entity.Route{{Name: "r", Paths: []string{"/"}}},
		Plugins: append(more, entity.Plugin{Name: "request-termination", Config: fmt.Appendf(nil, `{"status_code":200,"body":%q}`, text)}),
	}
	require.NoError(t, p.store.Publish(t.Context(), "tests", config))
}

// data is a data plane.
type data struct {
	follower *follow.Follower
	gateway  *gateway.Gateway
	stop     func()
}

func follows(t *testing.T, p *plane, file string) *data {
	t.Helper()
	return followsAt(t, p.URL, file)
}

func followsAt(t *testing.T, address, file string, kinds ...gateway.Kind) *data {
	t.Helper()
	f, err := follow.New(follow.Config{ControlPlane: address, Token: token, File: file, Interval: 2 * time.Millisecond})
	require.NoError(t, err)
	g, err := gateway.New(&gateway.Options{Kinds: append(plugin.SharedKinds(plugin.Options{Secret: f.Secret}), kinds...)})
	require.NoError(t, err)
	f.Start(g)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.Run(ctx) }()
	d := &data{f, g, nil}
	d.stop = func() {
		d.stop = func() {}
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, g.Close())
	}
	t.Cleanup(func() { d.stop() })
	return d
}

func (d *data) answer() string {
	recorder := httptest.NewRecorder()
	d.gateway.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/", nil))
	text, _ := io.ReadAll(recorder.Body)
	return string(text)
}

func (d *data) waitFor(t *testing.T, what func(follow.State) bool) {
	t.Helper()
	require.Eventually(t, func() bool { return what(d.follower.State()) }, patience, time.Millisecond)
}

func TestFollower_servesWhatTheControlPlaneHas(t *testing.T) {
	p := newPlane(t)
	p.serve(t, "one")
	file := filepath.Join(t.TempDir(), "kept")
	d := follows(t, p, file)
	require.Eventually(t, func() bool { return d.answer() == "one" }, patience, time.Millisecond)
	p.serve(t, "two")
	require.Eventually(t, func() bool { return d.answer() == "two" }, patience, time.Millisecond)
	asked := p.asked.Load()
	require.Eventually(t, func() bool { return p.asked.Load() > asked+3 }, patience, time.Millisecond)
	require.EqualValues(t, 2, p.sent.Load(), "what is the same is not sent")
	if runtime.GOOS != "windows" {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	require.NotEmpty(t, d.follower.Secret())
}

func TestFollower_isSentCompressedConfigurations(t *testing.T) {
	p := newPlane(t)
	ask := func(encoding string) (header http.Header, body []byte) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+admin.DataPlanePath, nil)
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Accept-Encoding", encoding)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer func() { require.NoError(t, response.Body.Close()) }()
		require.Equal(t, http.StatusOK, response.StatusCode)
		body, err = io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.Header, body
	}
	for _, text := range []string{strings.Repeat("one", 1000), strings.Repeat("two", 1000)} {
		p.serve(t, text)
		plain, whole := ask("identity")
		require.Empty(t, plain.Get("Content-Encoding"))
		require.Contains(t, string(whole), text)
		for range 2 {
			header, packed := ask("gzip")
			require.Equal(t, "gzip", header.Get("Content-Encoding"))
			require.Equal(t, plain.Get("ETag"), header.Get("ETag"))
			require.Less(t, len(packed), len(whole)/2)
			read, err := gzip.NewReader(bytes.NewReader(packed))
			require.NoError(t, err)
			unpacked, err := io.ReadAll(read)
			require.NoError(t, err)
			require.JSONEq(t, string(whole), string(unpacked))
		}
	}
}

func TestFollower_servesOnAndRestartsWithoutTheControlPlane(t *testing.T) {
	p := newPlane(t)
	p.serve(t, "one")
	file := filepath.Join(t.TempDir(), "kept")
	first := follows(t, p, file)
	first.waitFor(t, func(s follow.State) bool { return s.Serving && s.Unreachable == nil })
	secret := first.follower.Secret()
	p.away.Store(true)
	first.waitFor(t, func(s follow.State) bool { return s.Unreachable != nil })
	require.Equal(t, "one", first.answer())
	require.Contains(t, first.follower.State().String(), "ready, configuration of ")
	require.Contains(t, first.follower.State().String(), "the control plane does not answer")
	first.stop()

	second := follows(t, p, file)
	require.Equal(t, "one", second.answer(), "before it has asked")
	require.Equal(t, secret, second.follower.Secret())
	require.Zero(t, readMetric(t, second, "gateway_control_plane_up"))
	require.InDelta(t, 1, readMetric(t, second, "gateway_config_serving"), 0)
	require.Greater(t, readMetric(t, second, "gateway_config_age_seconds"), 0.0)
	p.serve(t, "two")
	p.away.Store(false)
	require.Eventually(t, func() bool { return second.answer() == "two" }, patience, time.Millisecond)
	second.waitFor(t, func(s follow.State) bool { return s.Unreachable == nil })
	require.InDelta(t, 1, readMetric(t, second, "gateway_control_plane_up"), 0)
}

func TestFollower_writesTheFileAgainAfterAFailure(t *testing.T) {
	p := newPlane(t)
	p.serve(t, "one")
	folder := filepath.Join(t.TempDir(), "folder")
	require.NoError(t, os.Mkdir(folder, 0o700))
	file := filepath.Join(folder, "kept")
	has := func(text string) func() bool {
		return func() bool {
			kept, err := os.ReadFile(file)
			return err == nil && strings.Contains(string(kept), `"`+text+`"`)
		}
	}
	d := follows(t, p, file)
	require.Eventually(t, has("one"), patience, time.Millisecond)
	d.waitFor(t, func(s follow.State) bool { return time.Since(s.Current) < time.Minute })
	require.NoError(t, os.Rename(folder, folder+" away"))
	p.serve(t, "two")
	require.Eventually(t, func() bool { return d.answer() == "two" }, patience, time.Millisecond)
	asked := p.asked.Load()
	require.Eventually(t, func() bool { return p.asked.Load() > asked+3 }, patience, time.Millisecond)
	require.NoError(t, os.Rename(folder+" away", folder))
	require.Eventually(t, has("two"), patience, time.Millisecond)
}

func readMetric(t *testing.T, d *data, name string) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	require.NoError(t, registry.Register(d.follower))
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func TestFollower_refusesAConfigurationAsAWhole(t *testing.T) {
	other := plugin.RequestTermination()
	other.Name = "of-a-later-version"
	p := newPlane(t, other)
	p.serve(t, "one")
	file := filepath.Join(t.TempDir(), "kept")
	d := follows(t, p, file)
	d.waitFor(t, func(s follow.State) bool { return s.Serving && s.Unreachable == nil })
	p.serve(t, "two", entity.Plugin{Name: "of-a-later-version", Config: []byte(`{}`)})
	d.waitFor(t, func(s follow.State) bool { return s.Refused != nil })
	require.Equal(t, "one", d.answer())
	require.ErrorContains(t, d.follower.State().Refused, "of-a-later-version")
	require.Contains(t, d.follower.State().String(), "a newer one is not served")
	require.InDelta(t, 1, readMetric(t, d, "gateway_config_refused"), 0)
	d.stop()
	p.away.Store(true)
	again := follows(t, p, file)
	require.Equal(t, "one", again.answer(), "what was refused was not kept")
	p.away.Store(false)
	p.serve(t, "three")
	require.Eventually(t, func() bool { return again.answer() == "three" }, patience, time.Millisecond)
	again.waitFor(t, func(s follow.State) bool { return s.Refused == nil })
}

func TestFollower_doesNotServeADamagedFile(t *testing.T) {
	p := newPlane(t)
	p.serve(t, "one")
	file := filepath.Join(t.TempDir(), "kept")
	d := follows(t, p, file)
	d.waitFor(t, func(s follow.State) bool { return s.Serving && s.Unreachable == nil })
	d.stop()
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	p.away.Store(true)
	for name, damaged := range map[string][]byte{
		"empty": {}, "cut off": whole[:len(whole)-5], "changed": []byte(strings.Replace(string(whole), `"one"`, `"two"`, 1)),
		"no label": whole[1:], "of a later version": []byte(strings.Replace(string(whole), `"version":1`, `"version":2`, 1)),
	} {
		require.NotEqual(t, whole, damaged, name)
		require.NoError(t, os.WriteFile(file, damaged, 0o600))
		again := follows(t, p, file)
		require.False(t, again.follower.State().Serving, name)
		require.Contains(t, again.answer(), "no Route matched", name)
		again.stop()
	}
	p.away.Store(false)
	again := follows(t, p, file)
	require.Eventually(t, func() bool { return again.answer() == "one" }, patience, time.Millisecond)
}

func TestFollower_saysThatATokenIsWrong(t *testing.T) {
	p := newPlane(t)
	f, err := follow.New(follow.Config{ControlPlane: p.URL, Token: "another-token-than-that", File: filepath.Join(t.TempDir(), "kept")})
	require.NoError(t, err)
	g, err := gateway.New(nil)
	require.NoError(t, err)
	f.Start(g)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.Run(ctx) }()
	require.Eventually(t, func() bool {
		return strings.Contains(fmt.Sprint(f.State().Unreachable), "the token is to have the role admin")
	}, patience, time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
	require.NoError(t, g.Close())
}

func TestNew_namesTheField(t *testing.T) {
	for want, c := range map[string]follow.Config{
		"Config.File":         {ControlPlane: "http://127.0.0.1:1"},
		"Config.ControlPlane": {ControlPlane: "127.0.0.1:1", File: "x"},
		"Config.Token":        {ControlPlane: "http://127.0.0.1:1", File: "x", Token: "two words"},
		"Config.Interval":     {ControlPlane: "http://127.0.0.1:1", File: "x", Interval: -1},
	} {
		_, err := follow.New(c)
		require.ErrorContains(t, err, want)
	}
}

func ExampleNew() {
	_, err := follow.New(follow.Config{ControlPlane: "http://manager.example:8101"})
	fmt.Println(err)
	// Output: follow: Config.File: is required
}
