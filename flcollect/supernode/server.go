package supernode

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
)

// Times and sizes of connections.
const (
	headerTimeout = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	pingTimeout   = time.Minute
	maxHeader     = 64 << 10
	maxStreams    = 64 // of a SuperNode's connection, which uses less than ten
	streamWindow  = 1 << 20
)

// Server is the server side of Flower's Fleet API: SuperNodes connect to it as to a
// SuperLink. It is an [http.Handler], and safe for concurrent use. Make one with [New].
type Server struct {
	config  Config
	byName  map[string]*method
	byPath  map[string]*method
	keys    keyring
	uploads *budget
	lists   *budget // of requests that list the objects of answers

	warnings hostWarnings
	ctx      context.Context
	stop     context.CancelCauseFunc

	mu    sync.Mutex
	nodes map[uint64]*Node
	// taskUploads counts the answers of Flower 1.13 and 1.14 that are read, by host.
	taskUploads map[string]int
	runs        map[uint64]*Run
	work        int // requests and calls of Handle
	stopped     bool
	idle        *sync.Cond
}

// listsSize bounds the memory of requests that list objects, in bytes.
const listsSize = 64 << 20

// New checks the configuration and returns a server. It starts nothing.
func New(config Config) (*Server, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		config: config, byName: map[string]*method{}, byPath: map[string]*method{},
		keys:    keyring{size: config.MaxNodes + 64},
		uploads: &budget{size: config.Uploads}, lists: &budget{size: listsSize},
		nodes: map[uint64]*Node{}, runs: map[uint64]*Run{}, taskUploads: map[string]int{},
	}
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	s.idle = sync.NewCond(&s.mu)
	for _, m := range methods() {
		s.byName[m.name] = &m
		if m.path != "" {
			s.byPath[m.path] = &m
		}
	}
	return s, nil
}

// enter counts a request, or returns false if the server has stopped.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.work++
	}
	return !s.stopped
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.work--; s.work == 0 {
		s.idle.Broadcast()
	}
}

// Stop ends the work with all nodes with [flower.ErrStopped], waits until calls of Handle
// and requests have ended, and refuses requests from then on in a way that has SuperNodes
// try again until a server is back. Serve calls it itself. A second call returns at once.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.stop(flower.ErrStopped)
	nodes := s.nodes
	s.nodes = map[uint64]*Node{}
	for _, node := range nodes {
		node.leave(flower.ErrStopped)
	}
	for s.work > 0 {
		s.idle.Wait()
	}
}

// Serve accepts connections of a listener until the context ends. Then it stops the
// server and closes the listener. The error is nil if the end of the context is the cause.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(s.config.TLS == nil)
	protocols.SetHTTP2(s.config.TLS != nil)
	server := &http.Server{
		Handler: s, Protocols: protocols,
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ConnState:   s.connState,
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ErrorLog:    slog.NewLogLogger(s.config.Logger.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerStream: streamWindow,
			MaxReceiveBufferPerConnection: 4 * streamWindow, SendPingTimeout: pingTimeout, PingTimeout: pingTimeout,
		},
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		s.shutdown(server)
	})
	var err error
	if s.config.TLS == nil {
		err = server.Serve(listener)
	} else {
		server.TLSConfig = s.config.TLS.Clone()
		err = server.ServeTLS(listener, "", "")
	}
	if !stop() {
		<-stopped
		return nil
	}
	s.shutdown(server)
	return fmt.Errorf("serve SuperNodes on %s: %w", listener.Addr(), err)
}

// connState calls the hook of the configuration with the connection of the listener.
func (s *Server) connState(conn net.Conn, state http.ConnState) {
	if s.config.ConnState == nil {
		return
	}
	if c, ok := conn.(*tls.Conn); ok {
		conn = c.NetConn()
	}
	s.config.ConnState(conn, state)
}

// closeTimeout is how long requests may go on while the server stops.
const closeTimeout = 3 * time.Second

// shutdown stops the server and gives the connections one second to send what is left. A
// node that sends or reads slowly does not hold it up for longer than closeTimeout.
func (s *Server) shutdown(server *http.Server) {
	late := time.AfterFunc(closeTimeout, func() { server.Close() })
	defer late.Stop()
	s.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		server.Close()
	}
}

// Nodes returns the nodes that are active, in the order of their numbers.
func (s *Server) Nodes() []*Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	nodes := make([]*Node, 0, len(s.nodes))
	for _, node := range s.nodes {
		nodes = append(nodes, node)
	}
	slices.SortFunc(nodes, func(a, b *Node) int { return cmp.Compare(a.id, b.id) })
	return nodes
}

// InUse returns how many bytes of answers are in memory, or reserved for answers that
// nodes are sending; see Config.Uploads.
func (s *Server) InUse() int64 { return s.uploads.inUse() }
