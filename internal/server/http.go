package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// HTTP returns the part that serves the handler on the listener. When it stops
// it takes no more connections, gives requests 5 seconds to be answered, and
// then cuts them off. It accepts as [KeepAccepting] does. A connection without a request is
// closed after 2 minutes; a TLS handshake and the header of a request may take 10 seconds.
func HTTP(listener net.Listener, handler http.Handler, log *slog.Logger) Part {
	return serve(listener, &http.Server{
		Handler:      handler,
		ReadTimeout:  2 * time.Minute,
		WriteTimeout: 10 * time.Minute, // a request that stops a channel may take minutes
	}, log)
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
		s.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
		listener := KeepAccepting(listener, log)
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
