package nodetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
	"github.com/iotenablers/enablers/multilink/node/rest"
	"github.com/iotenablers/enablers/storage"
)

// Token is the token of all instances.
const Token = "a token for tests, long enough"

// Patience is how long a test waits for what must happen.
const Patience = 30 * time.Second

// Object is a JSON object.
type Object = map[string]any

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

// Config configures an instance and its handler.
type Config struct {
	// Config is that of the node.
	node.Config
	// REST are the options of the handler.
	REST rest.HandlerOptions
	// Handler creates the handler. Nil means the REST interface alone.
	Handler func(n *node.Node, opts rest.HandlerOptions) (http.Handler, error)
}

// Instance is a node that runs, and its handler.
type Instance struct {
	T     *testing.T
	Node  *node.Node
	Plane *Plane // nil where the configuration has another one
	Docs  storage.Documents
	Log   fmt.Stringer
	Web   http.Handler
	Stop  func() error
}

// NewConfig returns a configuration with the token.
func NewConfig(role node.Role, p *Plane, docs storage.Documents) Config {
	config := Config{Config: node.Config{
		Role: role, Plane: p, Documents: docs, Interfaces: p.Interfaces,
		Port: multilink.PortConfig{Name: "tap0"},
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("198.51.100.7")}, nil
		},
	}, REST: rest.HandlerOptions{Token: Token}}
	if role == node.Server {
		config.Port.Addresses = []netip.Prefix{netip.MustParsePrefix("10.9.0.1/24")}
	}
	return config
}

// Start runs an instance until the test ends, and waits until it is ready.
func Start(t *testing.T, config Config) *Instance {
	t.Helper()
	i := Begin(t, config)
	require.Eventually(t, func() bool { return i.Node.Health() == nil }, Patience, time.Millisecond, "becomes ready")
	return i
}

// Begin starts an instance that may not become ready.
func Begin(t *testing.T, config Config) *Instance {
	t.Helper()
	log := &buffer{}
	i := &Instance{T: t, Docs: config.Documents, Log: log}
	i.Plane, _ = config.Plane.(*Plane)
	config.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	config.REST.Logger = config.Logger
	var err error
	i.Node, err = node.Open(t.Context(), config.Config)
	require.NoError(t, err)
	if config.Handler == nil {
		config.Handler = func(n *node.Node, opts rest.HandlerOptions) (http.Handler, error) { return rest.NewHandler(n, &opts) }
	}
	i.Web, err = config.Handler(i.Node, config.REST)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- i.Node.Run(ctx) }()
	i.Stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = i.Stop() })
	return i
}

// Server starts a server with four interfaces.
func Server(t *testing.T) *Instance {
	return Start(t, NewConfig(node.Server, NewPlane("eth0", "wlan0", "mesh0", "wwan0"), storage.NewMemoryDocuments()))
}

// Client starts a client with four interfaces.
func Client(t *testing.T) *Instance {
	return Start(t, NewConfig(node.Client, NewPlane("eth0", "wlan0", "mesh0", "wwan0"), storage.NewMemoryDocuments()))
}

// Ask sends a request with the token and returns status and body.
func (i *Instance) Ask(method, path string, body any) (int, string) {
	i.T.Helper()
	w := i.Send(method, path, body, map[string]string{"Authorization": "Bearer " + Token})
	return w.Code, w.Body.String()
}

// Send sends a request with these header fields.
func (i *Instance) Send(method, path string, body any, header map[string]string) *httptest.ResponseRecorder {
	i.T.Helper()
	var reader io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(body)
	default:
		data, err := json.Marshal(body)
		require.NoError(i.T, err)
		reader = bytes.NewReader(data)
	}
	r := httptest.NewRequest(method, path, reader)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	i.Web.ServeHTTP(w, r)
	return w
}

// Do calls Ask, requires success, and decodes the answer.
func (i *Instance) Do(status int, method, path string, body any) map[string]any {
	i.T.Helper()
	got, text := i.Ask(method, path, body)
	require.Equal(i.T, status, got, text)
	if text == "" {
		return nil
	}
	var answer map[string]any
	require.NoError(i.T, json.Unmarshal([]byte(text), &answer), text)
	return answer
}

// List gets an array.
func (i *Instance) List(path string) []map[string]any {
	i.T.Helper()
	status, text := i.Ask("GET", path, nil)
	require.Equal(i.T, http.StatusOK, status, text)
	var answer []map[string]any
	require.NoError(i.T, json.Unmarshal([]byte(text), &answer), text)
	return answer
}

// Three adds three links.
func (i *Instance) Three(endpoints bool) {
	i.T.Helper()
	for at, name := range []string{"wlan0", "mesh0", "wwan0"} {
		body := map[string]any{"name": name, "priority": 10 * (at + 1)}
		if endpoints {
			body["endpoint"] = "203.0.113.9:" + []string{"51820", "51821", "51822"}[at]
		}
		i.Do(http.StatusCreated, "POST", "/interfaces/add", body)
	}
}

// Key returns a public key.
func Key(t *testing.T, seed byte) string {
	t.Helper()
	public, err := multilink.Key{0: 8 * seed, 31: 64}.PublicKey()
	require.NoError(t, err)
	return public.Base64()
}

// Wrap returns an error with a cause.
func Wrap(text string, cause error) error { return fmt.Errorf("%s: %w", text, cause) }
