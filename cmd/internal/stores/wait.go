package stores

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/internal/server"
)

// Waiting configures [Stores.Wait].
type Waiting struct {
	// Listeners are those on which Wait answers. It replaces them by ones that continue.
	Listeners []*net.Listener
	// TLS is that of the listeners.
	TLS server.TLS
	// Announce is called when a server did not answer at the first attempt and the listeners
	// answer. Nil does nothing.
	Announce func()
}

// Wait returns when every server has answered, and when the context ends. Until then it
// answers on the listeners: 200 to /healthz, and 503 to /readyz and to everything else. It
// returns at once if there are no servers.
func (s *Stores) Wait(ctx context.Context, w Waiting) error {
	err := s.try(ctx)
	switch {
	case ctx.Err() != nil:
		return nil
	case err == nil || errors.Is(err, datafolder.ErrMarked):
		return err
	}
	s.logFailure(err)
	files, err := w.TLS.Open(s.log)
	if err != nil {
		return err
	}
	security := files.Config()
	var parts []server.Part
	for _, listener := range w.Listeners {
		kept := keepOpen(*listener, s.log)
		*listener = kept
		lent := kept.lend()
		if security != nil {
			lent = tls.NewListener(lent, security)
		}
		parts = append(parts, server.HTTP(lent, http.HandlerFunc(s.waiting), s.log))
	}
	var outcome error
	parts = append(parts, server.Part{Name: "store", Announce: w.Announce, Run: func(ctx context.Context) error {
		if outcome = s.await(ctx); errors.Is(outcome, context.Canceled) {
			outcome = nil
		}
		return nil
	}})
	// A context of its own: for the service manager the process is not ready yet.
	waiting, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	return errors.Join(server.Run(waiting, parts...), outcome)
}

// waiting answers while the servers do not.
func (s *Stores) waiting(w http.ResponseWriter, r *http.Request) {
	status, text := http.StatusServiceUnavailable, `{"error":"The storage cannot be reached. Please try again."}`
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/healthz":
		status, text = http.StatusOK, "ok"
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	case "/readyz":
		text = "the store has not answered yet"
		if err := s.servers.last.Load(); err != nil && *err != nil {
			text = (*err).Error()
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	default:
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // the client is gone if it fails
}
