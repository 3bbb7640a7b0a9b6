package flower_test

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// relay is an address that stays while the processes behind it are replaced. At
// first, and while one is expected, connections wait.
type relay struct {
	address  string // HOST:PORT
	listener net.Listener
	work     sync.WaitGroup
	over     chan struct{}

	mu      sync.Mutex
	target  string
	away    bool          // connections are refused
	changed chan struct{} // closed when one of these is set
	open    map[net.Conn]struct{}
}

func startRelay(t testing.TB) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &relay{
		address: listener.Addr().String(), listener: listener, over: make(chan struct{}),
		changed: make(chan struct{}), open: map[net.Conn]struct{}{},
	}
	r.work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			r.work.Go(func() { r.pass(conn) })
		}
	})
	t.Cleanup(func() {
		close(r.over)
		_ = listener.Close()
		r.cut()
		r.work.Wait()
	})
	return r
}

// lead has new connections go to the target, HOST:PORT or a URL of such.
func (r *relay) lead(target string) { r.set(strings.TrimPrefix(target, "http://"), false) }

// expect has new connections wait until the next lead.
func (r *relay) expect() { r.set("", false) }

// cut ends all connections, and new ones, until the next lead.
func (r *relay) cut() {
	r.set("", true)
	r.mu.Lock()
	defer r.mu.Unlock()
	for conn := range r.open {
		_ = conn.Close()
	}
}

func (r *relay) set(target string, away bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target, r.away = target, away
	close(r.changed)
	r.changed = make(chan struct{})
}

// next returns where a connection goes; false if nowhere.
func (r *relay) next() (string, bool) {
	for {
		r.mu.Lock()
		target, away, changed := r.target, r.away, r.changed
		r.mu.Unlock()
		if target != "" || away {
			return target, !away
		}
		select {
		case <-changed:
		case <-r.over:
			return "", false
		}
	}
}

func (r *relay) pass(from net.Conn) {
	defer from.Close()
	target, led := r.next()
	if !led {
		return
	}
	to, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer to.Close()
	if !r.keep(from, to) {
		return
	}
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
		both.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			_ = pair[0].Close()
			_ = pair[1].Close()
		})
	}
	both.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, from)
	delete(r.open, to)
}

// keep remembers connections for cut, unless that has happened meanwhile.
func (r *relay) keep(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return false
	}
	for _, conn := range conns {
		r.open[conn] = struct{}{}
	}
	return true
}
