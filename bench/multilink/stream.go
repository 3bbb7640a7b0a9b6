package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/iotenablers/enablers/internal/netlab"
)

// echoPort is where the server sends back what it gets.
const echoPort = 7

// line is a connection from an application of the client to one of the server that
// sends everything back.
type line struct {
	conn  net.Conn
	whole bool // packets, and not a stream of bytes
	ends  []io.Closer
}

// open opens a line and waits until it works. A stream is a connection of
// Multipath TCP where the hosts have several paths for it.
func (n *network) open(ctx context.Context, server netip.Addr, stream bool) (*line, error) {
	address := netip.AddrPortFrom(server, echoPort)
	l := &line{whole: !stream}
	var answer func()
	if err := n.wait(ctx, func() error {
		return n.lab.In(netlab.Server, func() error {
			end, serve, err := echo(ctx, address, stream)
			if err == nil {
				l.ends, answer = append(l.ends, end), serve
			}
			return err
		})
	}); err != nil {
		return nil, err
	}
	go answer() // until its end is closed
	err := n.wait(ctx, func() error {
		if l.conn == nil {
			if err := n.dial(ctx, l, address, stream); err != nil {
				return err
			}
		}
		return l.try()
	})
	if err != nil {
		l.close()
		return nil, fmt.Errorf("await an answer of %v: %w", address, err)
	}
	return l, nil
}

func (n *network) dial(ctx context.Context, l *line, address netip.AddrPort, stream bool) error {
	return n.lab.In(netlab.Client, func() (err error) {
		network := "udp4"
		dialer := net.Dialer{Timeout: time.Second, Control: widen}
		if stream {
			network, dialer.Control = "tcp4", nil
			dialer.SetMultipathTCP(true)
		}
		if l.conn, err = dialer.DialContext(ctx, network, address.String()); err != nil {
			l.conn = nil
		}
		return err
	})
}

// echo listens at an address and returns what ends that, and what serves until then.
func echo(ctx context.Context, address netip.AddrPort, stream bool) (io.Closer, func(), error) {
	if !stream {
		config := net.ListenConfig{Control: widen}
		conn, err := config.ListenPacket(ctx, "udp4", address.String())
		if err != nil {
			return nil, nil, err
		}
		return conn, func() { netlab.Echo(conn.(*net.UDPConn)) }, nil
	}
	var config net.ListenConfig
	config.SetMultipathTCP(true)
	listener, err := config.Listen(ctx, "tcp4", address.String())
	if err != nil {
		return nil, nil, err
	}
	return listener, func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = io.Copy(conn, conn) // until the other side closes it
		_ = conn.Close()
	}, nil
}

// try sends a packet and awaits it.
func (l *line) try() error {
	packet := make([]byte, packetSize)
	if _, err := l.conn.Write(packet); err != nil {
		return err
	}
	if err := l.conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		return err
	}
	_, err := l.read(packet)
	return err
}

// read reads a packet.
func (l *line) read(packet []byte) (int, error) {
	if l.whole {
		return l.conn.Read(packet)
	}
	return io.ReadFull(l.conn, packet)
}

func (l *line) close() {
	if l.conn != nil {
		_ = l.conn.Close() // nothing is left to be sent
	}
	for _, end := range l.ends {
		_ = end.Close()
	}
}

// stream sends a packet in every interval and notes what comes back when.
type stream struct {
	line     *line
	interval time.Duration
	size     int

	mu       sync.Mutex
	sent     []time.Time
	answered []time.Time // zero for those that are not
	twice    int
	newest   time.Time // when the latest packet that was answered was sent
}

// mostBehind is how many packets are sent at once at most when the sender was
// held up: more would be lost in the queue of a device, which is not the contender's loss.
const mostBehind = 64

// run sends until the context ends, and listens for so long afterwards.
func (s *stream) run(ctx context.Context, patience time.Duration) error {
	if err := s.line.conn.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	magic := uint32(time.Now().UnixNano()) | 1 // an echo of earlier does not count
	heard := make(chan error, 1)
	go func() { heard <- s.listen(magic) }()
	packet := make([]byte, s.size)
	binary.BigEndian.PutUint32(packet, magic)
	due := time.Now()
	for number := uint32(0); ctx.Err() == nil; number++ {
		now := time.Now()
		if wait := due.Sub(now); wait > 0 {
			time.Sleep(wait)
		} else if latest := now.Add(-mostBehind * s.interval); due.Before(latest) {
			due = latest
		}
		due = due.Add(s.interval)
		binary.BigEndian.PutUint32(packet[4:], number)
		s.mu.Lock()
		s.sent, s.answered = append(s.sent, time.Now()), append(s.answered, time.Time{})
		s.mu.Unlock()
		// What cannot be sent is not answered, and so counts as lost.
		_, _ = s.line.conn.Write(packet)
	}
	if err := s.line.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	return <-heard
}

func (s *stream) listen(magic uint32) error {
	packet := make([]byte, s.size)
	for {
		n, err := s.line.read(packet)
		now := time.Now()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil
		case err != nil && s.line.whole && !errors.Is(err, net.ErrClosed):
			continue // an earlier packet met a host that was not reachable
		case err != nil:
			return fmt.Errorf("listen for answers: %w", err)
		case n < 8 || binary.BigEndian.Uint32(packet) != magic:
			continue
		}
		number := int(binary.BigEndian.Uint32(packet[4:]))
		s.mu.Lock()
		switch {
		case number >= len(s.sent):
		case !s.answered[number].IsZero():
			s.twice++
		default:
			s.answered[number] = now
			if s.sent[number].After(s.newest) {
				s.newest = s.sent[number]
			}
		}
		s.mu.Unlock()
	}
}

// reached reports whether a packet that was sent after a time was answered.
func (s *stream) reached(after time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest.After(after)
}

// count returns how many packets were sent.
func (s *stream) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sent)
}

// phase is what became of the packets of some time.
type phase struct {
	Sent int     `json:"sent"`
	Lost int     `json:"lost"`
	Gap  float64 `json:"gapMilliseconds"` // the longest time without an answer
}

// between is the phase between two times, after run. A gap that goes beyond it
// counts as far as it is within.
func (s *stream) between(from, to time.Time) phase {
	s.mu.Lock()
	defer s.mu.Unlock()
	var p phase
	arrivals := []time.Time{to}
	for i, sent := range s.sent {
		if at := s.answered[i]; at.After(from) && at.Before(to) {
			arrivals = append(arrivals, at)
		}
		if sent.Before(from) || !sent.Before(to) {
			continue
		}
		p.Sent++
		if s.answered[i].IsZero() {
			p.Lost++
		}
	}
	slices.SortFunc(arrivals, time.Time.Compare)
	var gap time.Duration
	for _, at := range arrivals {
		gap = max(gap, at.Sub(from))
		from = at
	}
	p.Gap = float64(gap) / float64(time.Millisecond)
	return p
}
