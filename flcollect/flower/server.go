package flower

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrReplaced ends the session of a client when another joins under its name.
var ErrReplaced = errors.New("flower: replaced by a newer session of the same client")

// ErrUnfit is matched by an error of ServerConfig.Handle for a client that can never take
// part as it is, and by the error that the client then gets: there is no use in trying
// again.
var ErrUnfit = errors.New("flower: the client cannot take part")

// ErrStopped ends the sessions when the server stops.
var ErrStopped = errors.New("flower: server is stopping")

const (
	service  = "flwr.proto.FlowerService"
	joinPath = "/" + service + "/Join"
)

// prefaceTimeout is how long a client may take to begin TLS and HTTP/2, as in
// gRPC. When thousands of clients join at once, each waits for the others.
const prefaceTimeout = 2 * time.Minute

// closeTimeout is how long a client may take to read the end of its session.
const closeTimeout = 5 * time.Second

// Server accepts Flower clients. It is safe for concurrent use. Make one with
// [NewServer].
type Server struct {
	config ServerConfig
	grpc   *grpc.Server // answers calls of other methods
	admit  func(ctx context.Context, client string, size int64) (func(), error)
	chunks chunkPool
	relays *budget // of what this server holds for clients that it relays

	warnings hostWarnings

	mu       sync.Mutex
	sessions map[string]*Session
	joined   int // sessions, including replaced ones that have not ended yet
	shared   int // sessions that had the address of another one
	stopped  bool
	idle     *sync.Cond
}

// NewServer checks the configuration and returns a server. It starts nothing.
func NewServer(config ServerConfig) (*Server, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{config: config, admit: config.Admit, relays: &budget{size: config.Uploads}, sessions: map[string]*Session{}}
	s.idle = sync.NewCond(&s.mu)
	if s.admit == nil {
		uploads := &budget{size: config.Uploads}
		s.admit = func(ctx context.Context, _ string, size int64) (func(), error) { return uploads.acquire(ctx, size) }
	}
	s.grpc = grpc.NewServer(grpc.UnknownServiceHandler(s.unknownMethod))
	return s, nil
}

// Serve accepts connections of a listener until the context ends. Then it ends
// all sessions, waits for them and closes the listener. The error is nil if the
// end of the context is the cause.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // to answer programs that are not Flower clients
	protocols.SetUnencryptedHTTP2(s.config.TLS == nil)
	protocols.SetHTTP2(s.config.TLS != nil)
	server := &http.Server{
		Handler:           s,
		Protocols:         protocols,
		ReadHeaderTimeout: prefaceTimeout,
		IdleTimeout:       s.config.IdleTimeout,
		ConnState:         s.connState,
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ErrorLog:          slog.NewLogLogger(s.config.Logger.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:      s.config.MaxClients,
			MaxReceiveBufferPerStream: s.config.Window,
			// Streams that wait for admission must not block the others of their
			// connection, so the window has room for all of them, up to 1 GiB. The
			// maximum of HTTP/2 is larger, but package http returns the unread bytes of
			// a reset stream twice and panics when the window exceeds the maximum.
			MaxReceiveBufferPerConnection: min(s.config.MaxClients*s.config.Window, 1<<30),
			SendPingTimeout:               s.config.KeepAlive,
			PingTimeout:                   s.config.KeepAlive,
		},
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		s.shutdown(server)
	})
	var err error
	if s.config.TLS == nil {
		err = server.Serve(newPrefaceListener(listener))
	} else {
		server.TLSConfig = s.config.TLS.Clone()
		err = server.ServeTLS(listener, "", "")
	}
	if !stop() {
		<-stopped
		return nil
	}
	s.shutdown(server)
	return fmt.Errorf("serve flower clients on %s: %w", listener.Addr(), err)
}

// connState calls the hook of the configuration with the connection of the listener.
func (s *Server) connState(conn net.Conn, state http.ConnState) {
	if s.config.ConnState == nil {
		return
	}
	switch c := conn.(type) {
	case *prefaceConn:
		conn = c.Conn
	case *tls.Conn:
		conn = c.NetConn()
	}
	s.config.ConnState(conn, state)
}

// shutdown ends the sessions and gives the connections one second to send the
// end of their streams.
func (s *Server) shutdown(server *http.Server) {
	s.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		server.Close()
	}
}

// Stop ends all sessions with [ErrStopped], waits until they have ended, and
// refuses new ones from then on. Handle sees the end of its context. Programs
// that mount the server as a handler call it; Serve calls it itself. A second
// call returns at once.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	for _, session := range s.sessions {
		session.end(ErrStopped)
	}
	for s.joined > 0 {
		s.idle.Wait()
	}
}

// ServeHTTP implements [http.Handler]. The connection of a client must be HTTP/2.
// SuperNodes and other programs that are not Flower clients get an error that
// says so, which is logged once for each host.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !isGRPC(r) || r.URL.Path != joinPath {
		s.serveOther(w, r)
		return
	}
	if !checkCall(w, r) {
		return
	}
	limited, done := limit(r.Context(), r)
	defer done()
	ctx, cancel := context.WithCancelCause(limited)
	defer cancel(nil)
	session := &Session{ctx: ctx, end: cancel, peer: newPeer(r), relays: s.relays, turn: make(chan struct{}, 1)}
	if refused := s.introduce(session, r); refused != nil {
		writeStatus(w, refused)
		return
	}
	session.gate = &gate{
		body: r.Body, control: http.NewResponseController(w), chunks: &s.chunks, limit: s.config.MaxMessage, stall: s.config.Stall, fail: cancel,
		admit: func(size int64) (func(), error) {
			if session.relaying.Load() {
				return s.relays.acquire(ctx, size)
			}
			return s.admit(ctx, session.id, size)
		},
	}
	defer session.gate.finish()
	session.stream = newStream(w, r, session.gate)
	defer func() { // also after a panic of Handle, when a client that does not read must not keep the stream
		cancel(nil)
		session.gate.limitWrites(closeTimeout)
		session.stream.stop()
	}()
	session.stream.end(s.join(session))
}

// introduce names the client of a session, or returns the gRPC status that refuses it.
func (s *Server) introduce(session *Session, r *http.Request) (refused *status.Status) {
	relayed, refused := s.relayed(session, r)
	if relayed || refused != nil {
		return refused
	}
	if session.peer.Name, refused = s.authorize(r); refused != nil {
		return refused
	}
	var err error
	if session.id, err = s.config.Identify(session.peer); err != nil {
		session.refused = status.Error(codes.Unauthenticated, err.Error())
	}
	session.byAddress = s.config.byAddress && len(session.peer.Certificates) == 0
	return nil
}

func newPeer(r *http.Request) Peer {
	host := r.Host
	peer := Peer{Addr: r.RemoteAddr, Header: func(key string) string {
		if key == ":authority" { // net/http does not list it among the headers
			return host
		}
		return r.Header.Get(key)
	}}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		peer.Certificates = r.TLS.VerifiedChains[0]
	}
	return peer
}

// join serves a stream.
func (s *Server) join(session *Session) error {
	if session.refused != nil {
		return session.refused
	}
	if err := s.enter(session); err != nil {
		return err
	}
	defer s.leave(session)
	session.stream.start()
	log := s.config.Logger.With("client", session.id)
	log.Debug("client joined", "address", session.peer.Addr)
	err := s.config.Handle(session.ctx, session)
	cause := context.Cause(session.ctx)
	session.end(ErrGone) // for an instruction that is still under way
	// A client that does not read must not block the end of the stream.
	session.gate.limitWrites(closeTimeout)
	log.Debug("client left", "error", err, "cause", cause)
	if errors.Is(cause, errDone) {
		return nil
	}
	if cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return statusError(err)
}

// enter registers a session. It ends another session of the same client. Where the name is
// an address, the other one is another stream of the connection: then it renames the session.
func (s *Server) enter(session *Session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return statusError(ErrStopped)
	}
	if s.joined >= s.config.MaxClients {
		return status.Errorf(codes.ResourceExhausted, "flower: %d clients, no more are accepted", s.joined)
	}
	if other := s.sessions[session.id]; other != nil && session.byAddress {
		session.id = s.numberLocked(session.id)
	} else if other != nil {
		other.end(ErrReplaced)
	}
	s.sessions[session.id] = session
	s.joined++
	return nil
}

// numberLocked returns a name that no session has, of an address that one has.
func (s *Server) numberLocked(address string) string {
	for {
		s.shared++
		if name := fmt.Sprintf("%s/%d", address, s.shared+1); s.sessions[name] == nil {
			return name
		}
	}
}

func (s *Server) leave(session *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[session.id] == session {
		delete(s.sessions, session.id)
	}
	if s.joined--; s.joined == 0 {
		s.idle.Broadcast()
	}
}

// statusError returns the gRPC status that ends a client's stream.
func statusError(err error) error {
	if err == nil {
		return nil
	}
	code := codes.Internal
	switch {
	case errors.Is(err, ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		code = codes.DeadlineExceeded
	case errors.Is(err, ErrTooLarge):
		code = codes.ResourceExhausted
	case errors.Is(err, ErrProtocol):
		code = codes.InvalidArgument
	case errors.Is(err, ErrUnfit):
		code = codes.FailedPrecondition
	case errors.Is(err, ErrReplaced):
		code = codes.AlreadyExists
	case errors.Is(err, ErrStopped), errors.Is(err, context.Canceled):
		code = codes.Unavailable
	default:
		if known, ok := status.FromError(err); ok {
			return known.Err()
		}
	}
	return status.Error(code, err.Error())
}
