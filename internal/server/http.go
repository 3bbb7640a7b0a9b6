package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// HTTP returns the part that serves the handler on the listener. When it stops
// it takes no more connections, gives requests 5 seconds to be answered, and
// then cuts them off. It accepts as [KeepAccepting] does. A connection without a request is
// closed after 2 minutes; a TLS handshake and the header of a request may take 10 seconds.
// A request with both Content-Length and Transfer-Encoding is answered, and its connection closed.
func HTTP(listener net.Listener, handler http.Handler, log *slog.Logger) Part {
	part := serve(listener, &http.Server{
		Handler:      handler,
		ReadTimeout:  2 * time.Minute,
		WriteTimeout: 10 * time.Minute, // a request that stops a channel may take minutes
	}, log)
	part.Healthy = answers(handler)
	return part
}

// Streams is HTTP for a handler that bounds by itself how long bodies may take: a
// request and its answer may last for as long as both ends want. It also speaks
// HTTP/2 without TLS (RFC 9113 section 3.3).
func Streams(listener net.Listener, handler http.Handler, log *slog.Logger) Part {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true) // over TLS
	protocols.SetUnencryptedHTTP2(true)
	return serve(listener, &http.Server{Handler: handler, Protocols: protocols}, log)
}

func serve(listener net.Listener, s *http.Server, log *slog.Logger) Part {
	return Part{Name: "serve HTTP", Run: func(ctx context.Context) error {
		const patience = 5 * time.Second
		s.ReadHeaderTimeout = 10 * time.Second
		s.IdleTimeout = 2 * time.Minute
		s.MaxHeaderBytes = 64 << 10
		s.ConnState = ConnState
		if instruments := httpapi.InstrumentsOf(ctx); instruments != nil {
			requests := context.WithoutCancel(ctx)
			s.BaseContext = func(net.Listener) context.Context { return requests }
			s.Handler = closing(s.Handler, instruments)
		}
		s.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
		framing(s)
		listener := framedListener{KeepAccepting(listener, log)}
		failed := make(chan error, 1)
		go func() { failed <- s.Serve(listener) }()
		select {
		case err := <-failed:
			return err
		case <-ctx.Done():
		}
		deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		err := s.Shutdown(deadline)
		if errors.Is(err, context.DeadlineExceeded) {
			log.Warn("requests cut off at the end", "patience", patience)
			err = s.Close()
		}
		<-failed // http.ErrServerClosed
		return err
	}}
}

// closing has connections end after their answers while the process is about to stop.
func closing(next http.Handler, instruments *httpapi.Instruments) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if instruments.IsDraining() {
			w.Header().Set("Connection", "close") // of HTTP/2, too
		}
		next.ServeHTTP(w, r)
	})
}

// answers returns the Healthy of a part that serves a handler: whether that answers a request for
// /healthz, whatever the answer is.
func answers(handler http.Handler) func(context.Context) error {
	var mu sync.Mutex
	var last chan struct{} // closed when the request before is answered; nil without one
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/healthz", http.NoBody)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if last == nil { // else that one is waited for
			done := make(chan struct{})
			last = done
			go func() {
				defer close(done)
				defer func() { _ = recover() }() // a handler that breaks off has answered
				handler.ServeHTTP(&unread{}, request)
			}()
		}
		select {
		case <-last:
			last = nil
			return nil
		case <-ctx.Done():
			return fmt.Errorf("GET /healthz is not answered: %w", context.Cause(ctx))
		}
	}
}

// unread is an answer of no interest.
type unread struct{ header http.Header }

// Header implements http.ResponseWriter.
func (u *unread) Header() http.Header {
	if u.header == nil {
		u.header = http.Header{}
	}
	return u.header
}

// Write implements http.ResponseWriter.
func (*unread) Write(data []byte) (int, error) { return len(data), nil }

// WriteHeader implements http.ResponseWriter.
func (*unread) WriteHeader(int) {}
