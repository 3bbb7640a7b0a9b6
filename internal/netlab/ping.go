package netlab

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

// Echo answers every packet that arrives at a socket, until that is closed.
func Echo(conn *net.UDPConn) {
	buffer := make([]byte, 65536)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the answer before met a closed port
		}
		// One that cannot be sent is one that the other side misses.
		_, _ = conn.WriteToUDPAddrPort(buffer[:n], from)
	}
}

// Conn carries packets to an echo service, such as a connected
// socket of UDP. A Read past the deadline is os.ErrDeadlineExceeded.
type Conn interface {
	io.ReadWriter
	// SetReadDeadline ends every Read from that time on.
	SetReadDeadline(time.Time) error
}

// Ping says how to ping.
type Ping struct {
	// Interval between two packets.
	Interval time.Duration
	// Size of a packet, 8 bytes at least.
	Size int
	// Patience is how long an answer may take. Zero is 2 s.
	Patience time.Duration
	// Grace is how long further answers are awaited once every packet has been answered: they
	// are duplicates. Zero awaits them until Patience is over.
	Grace time.Duration
	// Window is how many packets may be under way, so that what a busy machine does not keep up
	// with waits at its sender and overflows no queue. While that many are, and no answer comes, one is
	// sent in every 50 ms. Zero means no bound.
	Window int
}

// windowPause is how long a full window keeps the next packet back.
const windowPause = 50 * time.Millisecond

// Pinged is what a ping found.
type Pinged struct {
	Sent, Lost, Duplicates int
	// Reordered answers came after one that was sent later.
	Reordered int
	// Gap is the longest time without an answer.
	Gap time.Duration
	// Median of the round trips.
	Median time.Duration
}

// String is a line for people.
func (p Pinged) String() string {
	return fmt.Sprintf("%d sent, %d lost, %d twice, %d out of order, longest gap %.1f ms, median %.2f ms",
		p.Sent, p.Lost, p.Duplicates, p.Reordered, milliseconds(p.Gap), milliseconds(p.Median))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Run sends a packet in every interval over a connection until the
// context ends, and counts what comes back.
func (p Ping) Run(ctx context.Context, conn Conn) (Pinged, error) {
	pinging := p.Begin(conn)
	<-ctx.Done()
	return pinging.End()
}

// Begin begins to send a packet in every interval over a connection. [Pinging.End] ends it.
func (p Ping) Begin(conn Conn) *Pinging {
	if p.Patience == 0 {
		p.Patience = 2 * time.Second
	}
	pinging := &Pinging{
		ping: p, conn: conn, highest: -1,
		// An echo that is still on its way from an earlier run does not count.
		run:  uint32(time.Now().UnixNano()),
		stop: make(chan struct{}), room: make(chan struct{}, 1), complete: make(chan struct{}),
	}
	pinging.sending.Go(pinging.send)
	pinging.receiving.Go(pinging.receive)
	return pinging
}

// Pinging is a ping that has begun. It is safe for use by several goroutines; End is for one.
type Pinging struct {
	ping               Ping
	conn               Conn
	run                uint32
	stop               chan struct{} // closed by End: nothing more is sent
	room               chan struct{} // an answer came; has room for one
	complete           chan struct{} // closed when nothing more is sent and all was answered
	sending, receiving sync.WaitGroup

	mu       sync.Mutex
	sent     []time.Time
	answered []bool
	stopped  bool
	result   Pinged
	trips    []time.Duration
	last     time.Time
	highest  int
}

// Sent is how many packets were sent so far.
func (p *Pinging) Sent() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.sent)
}

// Reached is how many packets were sent up to the newest one that was answered.
func (p *Pinging) Reached() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.highest + 1
}

// underWay is how many packets were sent after the newest one that was answered.
func (p *Pinging) underWay() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.sent) - 1 - p.highest
}

// End sends nothing more, waits for answers and returns what was found.
func (p *Pinging) End() (Pinged, error) {
	close(p.stop)
	p.sending.Wait()
	p.mu.Lock()
	p.stopped = true
	p.completeLocked()
	p.mu.Unlock()
	if err := p.conn.SetReadDeadline(time.Now().Add(p.ping.Patience)); err != nil {
		return Pinged{}, fmt.Errorf("end ping: %w", err)
	}
	received := make(chan struct{})
	go func() {
		defer close(received)
		p.receiving.Wait()
	}()
	select {
	case <-received:
	case <-p.complete:
		if p.ping.Grace > 0 {
			if err := p.conn.SetReadDeadline(time.Now().Add(p.ping.Grace)); err != nil {
				return Pinged{}, fmt.Errorf("end ping: %w", err)
			}
		}
		<-received
	}
	result := p.result
	result.Sent = len(p.sent)
	result.Lost = len(p.sent) - len(p.trips)
	if len(p.trips) > 0 {
		slices.Sort(p.trips)
		result.Median = p.trips[len(p.trips)/2]
	}
	return result, p.conn.SetReadDeadline(time.Time{})
}

// completeLocked closes complete once all that will ever be sent was answered.
func (p *Pinging) completeLocked() {
	if p.stopped && len(p.trips) == len(p.sent) {
		close(p.complete)
	}
}

func (p *Pinging) receive() {
	buffer := make([]byte, 65536)
	for {
		n, err := p.conn.Read(buffer)
		now := time.Now()
		if errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		if err != nil || n < 8 || binary.BigEndian.Uint32(buffer) != p.run {
			continue
		}
		p.take(int(binary.BigEndian.Uint32(buffer[4:])), now)
		select {
		case p.room <- struct{}{}:
		default:
		}
	}
}

// take counts the answer to a packet.
func (p *Pinging) take(i int, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case i >= len(p.sent):
	case p.answered[i]:
		p.result.Duplicates++
	default:
		p.answered[i] = true
		p.trips = append(p.trips, now.Sub(p.sent[i]))
		if !p.last.IsZero() {
			p.result.Gap = max(p.result.Gap, now.Sub(p.last))
		}
		p.last = now
		if i < p.highest {
			p.result.Reordered++
		}
		p.highest = max(p.highest, i)
		p.completeLocked()
	}
}

func (p *Pinging) send() {
	packet := make([]byte, max(8, p.ping.Size))
	binary.BigEndian.PutUint32(packet, p.run)
	start := time.Now()
	for n := 0; ; n++ {
		if wait := time.Until(start.Add(time.Duration(n) * p.ping.Interval)); wait > 0 {
			time.Sleep(wait)
		}
		p.await()
		select {
		case <-p.stop:
			return
		default:
		}
		p.mu.Lock()
		binary.BigEndian.PutUint32(packet[4:], uint32(n))
		p.sent = append(p.sent, time.Now())
		p.answered = append(p.answered, false)
		p.mu.Unlock()
		// One that cannot be sent counts as lost.
		_, _ = p.conn.Write(packet)
	}
}

// await waits for room in the window.
func (p *Pinging) await() {
	if p.ping.Window == 0 || p.underWay() < p.ping.Window {
		return
	}
	pause := time.NewTimer(windowPause)
	defer pause.Stop()
	for p.underWay() >= p.ping.Window {
		select {
		case <-p.room:
		case <-p.stop:
			return
		case <-pause.C:
			return
		}
	}
}
