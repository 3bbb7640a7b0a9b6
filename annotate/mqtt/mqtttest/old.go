package mqtttest

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// level311 is the protocol level of MQTT 3.1.1 in a CONNECT packet (MQTT 3.1.1
// section 3.1.2.2).
const level311 = 4

// Old is a broker that speaks MQTT 3.1.1 only: it looks at the protocol level
// of each CONNECT, turns those of other levels away, and passes the rest on to
// a real broker.
type Old struct {
	Address
	target   string
	refusal  []byte
	listener net.Listener
	work     sync.WaitGroup
	turned   atomic.Int32
	passed   atomic.Int32
	done     chan struct{}
}

// NewOld starts an old broker that uses the one at the address. It answers a
// CONNECT of another level with refusal, which may be empty, and closes the
// connection.
func NewOld(tb testing.TB, to Address, refusal []byte) *Old {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("listen for the old broker: %v", err)
	}
	o := &Old{
		Address:  newAddress(listener),
		target:   to.String(),
		refusal:  refusal,
		listener: listener,
		done:     make(chan struct{}),
	}
	o.work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			o.work.Go(func() { o.serve(conn) })
		}
	})
	tb.Cleanup(func() {
		_ = listener.Close()
		close(o.done)
		o.work.Wait()
	})
	return o
}

// Turned is how many connections were turned away.
func (o *Old) Turned() int { return int(o.turned.Load()) }

// Passed is how many connections were passed on.
func (o *Old) Passed() int { return int(o.passed.Load()) }

// serve reads the head of the CONNECT packet, up to the protocol level.
func (o *Old) serve(client net.Conn) {
	defer client.Close()
	_ = client.SetReadDeadline(time.Now().Add(2 * time.Minute))
	head := make([]byte, 2, 16)
	if _, err := io.ReadFull(client, head); err != nil {
		return
	}
	for head[len(head)-1] >= 0x80 { // the length goes on
		head = append(head, 0)
		if _, err := io.ReadFull(client, head[len(head)-1:]); err != nil {
			return
		}
	}
	name := make([]byte, 7) // the length of "MQTT", "MQTT", the level
	if _, err := io.ReadFull(client, name); err != nil {
		return
	}
	if name[6] != level311 {
		o.turned.Add(1)
		_, _ = client.Write(o.refusal)
		return
	}
	_ = client.SetReadDeadline(time.Time{})
	broker, err := net.Dial("tcp", o.target)
	if err != nil {
		return
	}
	defer broker.Close()
	if _, err := broker.Write(append(head, name...)); err != nil {
		return
	}
	o.passed.Add(1)
	ended := make(chan struct{})
	o.work.Go(func() {
		select {
		case <-o.done:
		case <-ended:
		}
		_ = client.Close()
		_ = broker.Close()
	})
	splice(client, broker)
	close(ended)
}
