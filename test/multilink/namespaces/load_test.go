package namespaces

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/netlab"
)

// stream is a connection of TCP from the client to the server of the bonded network, over which the client sends as
// much as it can.
type stream struct {
	p        *pair
	stop     chan struct{}
	received atomic.Int64 // bytes that arrived, as they were sent
	ended    [2]chan error
}

// streamBlock is how many bytes of a stream are compared at a time.
const streamBlock = 64 << 10

func (p *pair) stream() *stream {
	s := &stream{p: p, stop: make(chan struct{}), ended: [2]chan error{make(chan error, 1), make(chan error, 1)}}
	var listener net.Listener
	require.NoError(p.t, p.lab.In(netlab.Server, func() (err error) {
		listener, err = net.Listen("tcp4", net.JoinHostPort(serverAddress.String(), "0"))
		return err
	}))
	var conn net.Conn
	require.NoError(p.t, p.lab.In(netlab.Client, func() (err error) {
		dialer := net.Dialer{Timeout: patience}
		conn, err = dialer.DialContext(p.t.Context(), "tcp4", listener.Addr().String())
		return err
	}))
	arrived, err := listener.Accept()
	require.NoError(p.t, err)
	require.NoError(p.t, listener.Close())
	p.t.Cleanup(func() { conn.Close(); arrived.Close() })
	go func() { s.ended[netlab.Client] <- s.send(conn) }()
	go func() { s.ended[netlab.Server] <- s.receive(arrived) }()
	return s
}

func content() io.Reader { return rand.NewChaCha8([32]byte{1}) }

func (s *stream) send(conn net.Conn) error {
	for source, block := content(), make([]byte, streamBlock); ; {
		select {
		case <-s.stop:
			return conn.Close()
		default:
		}
		if _, err := io.ReadFull(source, block); err != nil {
			return err
		}
		if _, err := conn.Write(block); err != nil {
			return err
		}
	}
}

// receive compares what arrives with what was sent.
func (s *stream) receive(conn net.Conn) error {
	source, block, want := content(), make([]byte, streamBlock), make([]byte, streamBlock)
	for {
		_, err := io.ReadFull(conn, block)
		if err == io.EOF {
			return nil // at the end of a block
		}
		if err != nil {
			return err
		}
		if _, err := io.ReadFull(source, want); err != nil {
			return err
		}
		if string(block) != string(want) {
			return errors.New("the bytes that arrived are not those that were sent")
		}
		s.received.Add(streamBlock)
	}
}

// carry waits until so many more bytes have arrived.
func (s *stream) carry(bytes int64) {
	s.p.t.Helper()
	from := s.received.Load()
	await(s.p.t, "bytes to arrive", func() bool { return s.received.Load() >= from+bytes })
}

// end stops the stream. Everything that was sent must arrive.
func (s *stream) end() {
	s.p.t.Helper()
	close(s.stop)
	for _, ended := range s.ended {
		select {
		case err := <-ended:
			require.NoError(s.p.t, err)
		case <-time.After(patience):
			require.Fail(s.p.t, "the stream does not end")
		}
	}
}

// failovers counts those of both ends.
func (p *pair) failovers() int {
	type peer struct {
		Counters struct {
			Failovers int `json:"failovers"`
		} `json:"counters"`
	}
	var server struct {
		Clients []peer `json:"clients"`
	}
	p.server.do("GET", "/status", nil, &server)
	require.Len(p.t, server.Clients, 1)
	var client struct {
		Attachment struct {
			Peer *peer `json:"peer"`
		} `json:"attachment"`
	}
	p.client.do("GET", "/status", nil, &client)
	require.NotNil(p.t, client.Attachment.Peer)
	return server.Clients[0].Counters.Failovers + client.Attachment.Peer.Counters.Failovers
}

// TestInstance_keepsItsLinksOnABusyMachine has every core taken while a stream crosses. A trial in which the bond
// moved counts only where nothing else explains it: where no busy loop was itself stopped for half the time that a
// link may be silent.
func TestInstance_keepsItsLinksOnABusyMachine(t *testing.T) {
	const (
		trials   = 12
		d        = 5 * time.Second
		harmless = 15 * time.Millisecond
	)
	p := connect(t)
	calm, disturbed := 0, 0
	for trial := range trials {
		p.settle(links[0].name)
		before := p.failovers()
		loops := []*busyLoop{spinning(t), spinning(t)}
		stream := p.stream()
		wait(t, d)
		stream.end()
		stopped := max(loops[0].end(), loops[1].end())
		moved := p.failovers() - before
		t.Logf("trial %d: %.0f Mbit/s while every core was busy, failovers %d, a busy loop stopped for %.1f ms at most", trial+1,
			float64(stream.received.Load())*8/d.Seconds()/1e6, moved, stopped.Seconds()*1000)
		switch {
		case moved == 0:
			calm++
			require.Equal(t, links[0].name, p.client.active())
		case stopped > harmless:
			disturbed++
		default:
			require.Zero(t, moved, "a link was left that nothing was wrong with")
		}
		if calm > 0 && testing.Short() {
			break
		}
	}
	t.Logf("%d of %d trials were disturbed by others", disturbed, calm+disturbed)
	require.Positive(t, calm, "the bond moved in every trial")
}

func TestInstance_failover_carriesTCPThrough(t *testing.T) {
	p := connect(t)
	p.bond("active-backup", true)
	p.settle(links[0].name)
	before := p.failovers()
	stream := p.stream()
	stream.carry(4 << 20)
	require.NoError(t, p.lab.Cut(links[0].name))
	p.down()
	stream.carry(4 << 20)
	require.Greater(t, p.failovers(), before)
	require.NoError(t, p.lab.Restore(links[0].name))
	p.settle(links[0].name)
	stream.carry(4 << 20)
	stream.end()
}

func TestInstance_carriesWholeFramesOfALAN(t *testing.T) {
	p := connect(t)
	conn := p.echo()
	// 1,472 bytes of UDP fill a frame of 1,514, which no link carries in one piece.
	p.bond("active-backup", true)
	for _, size := range []int{1300, 1400, 1472} {
		ping := small()
		ping.Size = size
		crossing := p.cross(conn, ping)
		crossing.carry(200)
		require.Zero(t, crossing.end().Lost, "packets of %d bytes", size)
	}
	var mtu int
	require.NoError(t, p.lab.In(netlab.Client, func() error {
		tap, err := net.InterfaceByName("tap0")
		if err == nil {
			mtu = tap.MTU
		}
		return err
	}))
	require.Equal(t, 1500, mtu)
}

func TestInstance_removesEverythingAtTheEnd(t *testing.T) {
	p := connect(t)
	p.client.Stop()
	var interfaces []net.Interface
	require.NoError(t, p.lab.In(netlab.Client, func() (err error) {
		interfaces, err = net.Interfaces()
		return err
	}))
	require.Len(t, interfaces, 1+len(links))
	for _, i := range interfaces {
		require.NotEqual(t, "tap0", i.Name)
	}
}
