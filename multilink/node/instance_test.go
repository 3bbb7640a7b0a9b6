package node_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/storage"
)

const token = "a token for tests, long enough"

// patience is how long a test waits for what has to happen.
const patience = 30 * time.Second

// buffer is a log that several goroutines write.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// instance is a node that runs, and its handler.
type instance struct {
	t     *testing.T
	node  *node.Node
	plane *plane
	docs  storage.Documents
	log   *buffer
	web   http.Handler
	stop  func() error
}

func configOf(role node.Role, p *plane, docs storage.Documents) node.Config {
	config := node.Config{
		Role: role, Plane: p, Documents: docs, Token: token, Interfaces: p.interfaces,
		Port: multilink.PortConfig{Name: "tap0"},
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("198.51.100.7")}, nil
		},
	}
	if role == node.Server {
		config.Port.Addresses = []netip.Prefix{netip.MustParsePrefix("10.9.0.1/24")}
	}
	return config
}

// start runs an instance until the test ends.
func start(t *testing.T, config node.Config) *instance {
	t.Helper()
	n, i := begin(t, config)
	require.Eventually(t, func() bool { return n.Health() == nil }, patience, time.Millisecond, "becomes ready")
	return i
}

// begin is start for an instance that may not become ready.
func begin(t *testing.T, config node.Config) (*node.Node, *instance) {
	t.Helper()
	i := &instance{t: t, docs: config.Documents, log: &buffer{}}
	i.plane, _ = config.Plane.(*plane) // nil where it is a real one
	config.Logger = slog.New(slog.NewTextHandler(i.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	n, err := node.Open(t.Context(), config)
	require.NoError(t, err)
	i.node, i.web = n, n.Handler()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	i.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = i.stop() })
	return n, i
}

func server(t *testing.T) *instance {
	return start(t, configOf(node.Server, newPlane("eth0", "wlan0", "mesh0", "wwan0"), storage.NewMemoryDocuments()))
}

func client(t *testing.T) *instance {
	return start(t, configOf(node.Client, newPlane("eth0", "wlan0", "mesh0", "wwan0"), storage.NewMemoryDocuments()))
}

// ask sends a request with the token and returns status and body.
func (i *instance) ask(method, path string, body any) (int, string) {
	i.t.Helper()
	w := i.send(method, path, body, map[string]string{"Authorization": "Bearer " + token})
	return w.Code, w.Body.String()
}

func (i *instance) send(method, path string, body any, header map[string]string) *httptest.ResponseRecorder {
	i.t.Helper()
	var reader io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(body)
	default:
		data, err := json.Marshal(body)
		require.NoError(i.t, err)
		reader = bytes.NewReader(data)
	}
	r := httptest.NewRequest(method, path, reader)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	i.web.ServeHTTP(w, r)
	return w
}

// do is ask for what has to succeed, and decodes the answer.
func (i *instance) do(status int, method, path string, body any) map[string]any {
	i.t.Helper()
	got, text := i.ask(method, path, body)
	require.Equal(i.t, status, got, text)
	if text == "" {
		return nil
	}
	var answer map[string]any
	require.NoError(i.t, json.Unmarshal([]byte(text), &answer), text)
	return answer
}

func (i *instance) list(path string) []map[string]any {
	i.t.Helper()
	status, text := i.ask("GET", path, nil)
	require.Equal(i.t, http.StatusOK, status, text)
	var answer []map[string]any
	require.NoError(i.t, json.Unmarshal([]byte(text), &answer), text)
	return answer
}

// three adds three links.
func (i *instance) three(endpoints bool) {
	i.t.Helper()
	for at, name := range []string{"wlan0", "mesh0", "wwan0"} {
		body := map[string]any{"name": name, "priority": 10 * (at + 1)}
		if endpoints {
			body["endpoint"] = "203.0.113.9:" + []string{"51820", "51821", "51822"}[at]
		}
		i.do(http.StatusCreated, "POST", "/interfaces/add", body)
	}
}

type object = map[string]any
