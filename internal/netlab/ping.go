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
}

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
	if p.Patience == 0 {
		p.Patience = 2 * time.Second
	}
	var (
		mu       sync.Mutex
		sent     []time.Time
		answered []bool
		result   Pinged
		trips    []time.Duration
		last     time.Time
		highest  = -1
		done     = make(chan struct{})
	)
	// An echo that is still on its way from an earlier run does not count.
	run := uint32(time.Now().UnixNano())
	go func() {
		defer close(done)
		buffer := make([]byte, 65536)
		for {
			n, err := conn.Read(buffer)
			now := time.Now()
			if errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
				return
			}
			if err != nil || n < 8 || binary.BigEndian.Uint32(buffer) != run {
				continue
			}
			i := int(binary.BigEndian.Uint32(buffer[4:]))
			mu.Lock()
			switch {
			case i >= len(sent):
			case answered[i]:
				result.Duplicates++
			default:
				answered[i] = true
				trips = append(trips, now.Sub(sent[i]))
				if !last.IsZero() {
					result.Gap = max(result.Gap, now.Sub(last))
				}
				last = now
				if i < highest {
					result.Reordered++
				}
				highest = max(highest, i)
			}
			mu.Unlock()
		}
	}()
	packet := make([]byte, max(8, p.Size))
	binary.BigEndian.PutUint32(packet, run)
	start := time.Now()
	for ctx.Err() == nil {
		due := start.Add(time.Duration(len(sent)) * p.Interval)
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
		}
		mu.Lock()
		binary.BigEndian.PutUint32(packet[4:], uint32(len(sent)))
		sent = append(sent, time.Now())
		answered = append(answered, false)
		mu.Unlock()
		// One that cannot be sent counts as lost.
		_, _ = conn.Write(packet)
	}
	if err := conn.SetReadDeadline(time.Now().Add(p.Patience)); err != nil {
		return Pinged{}, fmt.Errorf("end ping: %w", err)
	}
	<-done
	result.Sent = len(sent)
	result.Lost = len(sent) - len(trips)
	if len(trips) > 0 {
		slices.Sort(trips)
		result.Median = trips[len(trips)/2]
	}
	return result, conn.SetReadDeadline(time.Time{})
}
