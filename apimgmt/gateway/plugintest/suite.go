// Package plugintest is the conformance suite of plugins: what every
// [gateway.Kind] has to do, whatever else it does.
package plugintest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// Subject is a kind and its configurations for the suite.
type Subject struct {
	// Kind is the kind under test.
	Kind gateway.Kind
	// Valid are configurations that compile, as JSON. There is at least one.
	Valid []string
	// Invalid are configurations that do not, each with the field that the error has
	// to name, such as "config.minute".
	Invalid map[string]string
	// Secret is a text in Valid that must be in no log line; empty means none.
	Secret string
	// Others are kinds that the configuration needs beside it, and Config is
	// what is to be served besides the plugin. The suite adds a service and a route.
	Others []gateway.Kind
	Config entity.Config
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	require.NotEmpty(t, s.Valid, "the suite needs a configuration that compiles")
	t.Run("valid configurations compile", func(t *testing.T) { compiles(t, s) })
	t.Run("invalid configurations name their field", func(t *testing.T) { refuses(t, s) })
	t.Run("a plugin survives what leaves it unchanged, and is closed once", func(t *testing.T) { survives(t, s) })
	t.Run("requests may come at once, and secrets stay out of logs", func(t *testing.T) { serves(t, s) })
	t.Run("nothing is left behind", func(t *testing.T) { leavesNothing(t, s) })
}

func setup(config string) gateway.Setup {
	return gateway.Setup{
		ID: "0b5f1c1e-0000-4000-8000-000000000001", Config: json.RawMessage(config),
		Logger: slog.New(slog.DiscardHandler), Client: &http.Client{},
	}
}

func compiles(t *testing.T, s Subject) {
	for _, config := range s.Valid {
		given := setup(config)
		for range 2 { // a second one must not meet traces of the first
			made, err := s.Kind.Compile(given)
			require.NoError(t, err, config)
			require.Equal(t, config, string(given.Config), "Compile must not change its Config")
			if made.Close != nil {
				require.NoError(t, made.Close(), config)
			}
		}
	}
}

func refuses(t *testing.T, s Subject) {
	bad := map[string]string{`{"no_such_field_anywhere":1}`: "config.no_such_field_anywhere", `[]`: "config", `{}{}`: "config", `{`: "config"}
	for config, field := range s.Invalid {
		bad[config] = field
	}
	for config, field := range bad {
		made, err := s.Kind.Compile(setup(config))
		require.Error(t, err, config)
		require.Contains(t, err.Error(), field, "the error has to name the field")
		if s.Secret != "" {
			require.NotContains(t, err.Error(), s.Secret)
		}
		require.Nil(t, made.Access, "what is refused makes no plugin")
	}
}

// counted is a kind that counts what happens to its plugins.
func counted(kind gateway.Kind) (_ gateway.Kind, compiled, closed *atomic.Int64) {
	compiled, closed = new(atomic.Int64), new(atomic.Int64)
	compile := kind.Compile
	kind.Compile = func(s gateway.Setup) (gateway.Plugin, error) {
		made, err := compile(s)
		if err != nil {
			return made, err
		}
		compiled.Add(1)
		end := made.Close
		made.Close = func() error {
			closed.Add(1)
			if end != nil {
				return end()
			}
			return nil
		}
		return made, nil
	}
	return kind, compiled, closed
}

func survives(t *testing.T, s Subject) {
	kind, compiled, closed := counted(s.Kind)
	stage := NewStage(t, Options{Kinds: append(s.Others, kind), Config: s.Config, Plugins: []entity.Plugin{plugin(s, s.Valid[0])}})
	require.EqualValues(t, 1, compiled.Load())
	require.NoError(t, stage.Gateway.Update(func(c entity.Config) (entity.Config, error) {
		c.Consumers = append(c.Consumers, entity.Consumer{Username: "another-consumer"})
		return c, nil
	}))
	require.EqualValues(t, 1, compiled.Load(), "the plugin has not changed")
	require.Zero(t, closed.Load())
	require.NoError(t, stage.Gateway.Apply(entity.Config{}))
	require.EqualValues(t, 1, closed.Load(), "a plugin that is served no longer is closed")
	require.NoError(t, stage.Gateway.Close())
	require.EqualValues(t, 1, closed.Load(), "and only once")
}

func plugin(s Subject, config string) entity.Plugin {
	return entity.Plugin{Name: s.Kind.Name, Config: json.RawMessage(config)}
}

func serves(t *testing.T, s Subject) {
	for _, config := range s.Valid {
		var lines buffer
		log := slog.New(slog.NewJSONHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
		stage := NewStage(t, Options{
			Kinds: append(s.Others, s.Kind), Config: s.Config, Plugins: []entity.Plugin{plugin(s, config)}, Logger: log,
		})
		var all sync.WaitGroup
		problems := make(chan error, 100)
		for range 4 {
			all.Go(func() {
				for i := range 25 {
					if err := stage.try(i); err != nil {
						problems <- err
					}
				}
			})
		}
		all.Wait()
		close(problems)
		for err := range problems {
			require.NoError(t, err, config)
		}
		if s.Secret != "" {
			require.NotContains(t, lines.String(), s.Secret, "a secret is in the log")
		}
		require.NotContains(t, lines.String(), "query-secret", "a query is in the log")
		require.NotContains(t, lines.String(), "header-secret", "a header field is in the log")
	}
}

// try sends one of several kinds of requests. Any answer of HTTP will do.
func (s *Stage) try(i int) error {
	methods := []string{http.MethodGet, http.MethodPost, http.MethodOptions, http.MethodHead, http.MethodDelete}
	method := methods[i%len(methods)]
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+"/x?token=query-secret", strings.NewReader("body"))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer header-secret")
	if i%2 == 0 {
		request.Header.Set("Origin", "https://app.example")
		request.Header.Set("Access-Control-Request-Method", http.MethodPut)
	}
	response, err := s.transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	var body bytes.Buffer
	if _, err := body.ReadFrom(response.Body); err != nil {
		return fmt.Errorf("%s: read the answer: %w", method, err)
	}
	if response.StatusCode < 200 || response.StatusCode == http.StatusInternalServerError {
		return fmt.Errorf("%s: status %d: %s", method, response.StatusCode, body.String())
	}
	return nil
}

// patience is the longest time that what Compile has started may take to end.
const patience = 30 * time.Second

func leavesNothing(t *testing.T, s Subject) {
	const many = 50 // so that what the runtime itself starts makes no difference
	before := runtime.NumGoroutine()
	for range many {
		made, err := s.Kind.Compile(setup(s.Valid[0]))
		require.NoError(t, err)
		if made.Close != nil {
			require.NoError(t, made.Close())
		}
	}
	require.Eventually(t, func() bool { return runtime.NumGoroutine() < before+many/2 }, patience, 5*time.Millisecond,
		"Close has to end what Compile has started")
}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String returns what was written.
func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
