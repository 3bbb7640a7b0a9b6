package session

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// pieceSize is the size of one write to the network, in bytes.
const pieceSize = 64 << 10

// Wire is the network connection of one MQTT connection. It reads through a buffer, refuses
// too large packets before memory is allocated for them, limits the time of a write, and
// keeps the first error.
//
// It is a sync.Locker, which the packet encoder locks to keep the parts of a packet together.
type Wire struct {
	net.Conn
	sync.Mutex

	reader    *bufio.Reader
	left      int // bytes of the packet being read that are still to come
	take      func(first byte, header, size int) (bool, error)
	maxPacket int
	patience  time.Duration // for one write

	first     atomic.Uint64 // the first packet: type byte and size
	start     time.Time     // of the connection; its monotonic clock measures what follows
	lastRead  atomic.Int64  // when bytes last arrived, in nanoseconds since the start
	lastWrite atomic.Int64  // when bytes were last sent, likewise
	writing   atomic.Int32  // number of writes in progress

	faultOnce sync.Once
	fault     error
	faulty    chan struct{} // closed once fault is set
}

func newWire(conn net.Conn, maxPacket uint32, patience time.Duration) *Wire {
	return &Wire{
		Conn:      conn,
		reader:    bufio.NewReaderSize(conn, 64<<10),
		maxPacket: int(min(maxPacket, math.MaxInt32)),
		patience:  patience,
		start:     time.Now(),
		faulty:    make(chan struct{}),
	}
}

// since returns the time since the start. Setting the clock of the machine does not change it.
func (w *Wire) since() time.Duration { return time.Since(w.start) }

// silence returns for how long no byte has arrived, and idle for how long none was sent.
func (w *Wire) silence() time.Duration { return w.since() - time.Duration(w.lastRead.Load()) }

func (w *Wire) idle() time.Duration { return w.since() - time.Duration(w.lastWrite.Load()) }

// Read implements net.Conn. It never returns bytes of two packets at once, nor bytes of a
// packet that take has consumed.
func (w *Wire) Read(p []byte) (int, error) {
	for w.left == 0 {
		taken := false
		first, header, size, err := w.peek()
		if err == nil && w.take != nil {
			taken, err = w.take(first, header, size)
		}
		if err != nil {
			w.Fail(err)
			return 0, err
		}
		if !taken {
			w.left = size
		}
	}
	if len(p) > w.left {
		p = p[:w.left]
	}
	n, err := w.reader.Read(p)
	w.left -= n
	w.touch()
	if err != nil {
		w.Fail(err)
	}
	return n, err
}

// touch records that bytes arrived.
func (w *Wire) touch() { w.lastRead.Store(int64(w.since())) }

// discard skips bytes that were peeked at.
func (w *Wire) discard(n int) {
	_, _ = w.reader.Discard(n) // they are in the buffer
	w.touch()
}

// peek waits for the head of a packet (MQTT 5 section 2.1) and returns its
// first byte, the size of the head, and the packet's whole size.
func (w *Wire) peek() (first byte, header, size int, err error) {
	for n := 2; n <= 5; n++ {
		head, err := w.reader.Peek(n)
		if err != nil {
			return 0, 0, 0, err
		}
		size |= int(head[n-1]&0x7f) << (7 * (n - 2))
		if head[n-1] < 0x80 {
			size += n
			if size > w.maxPacket {
				return 0, 0, 0, fmt.Errorf("the broker sent a packet of %d bytes, the limit is %d", size, w.maxPacket)
			}
			w.first.CompareAndSwap(0, uint64(head[0])<<32|uint64(size))
			return head[0], n, size, nil
		}
	}
	return 0, 0, 0, errors.New("the broker sent a malformed packet length")
}

// AnsweredOldConnack reports whether the first packet was a CONNACK of MQTT
// 3.1 or 3.1.1, which is two bytes shorter than the shortest of MQTT 5.
func (w *Wire) AnsweredOldConnack() bool {
	return w.first.Load() == 0x20<<32|4
}

// Write implements net.Conn. The patience applies to each piece, so that a large message may
// take longer on a slow network.
func (w *Wire) Write(p []byte) (written int, err error) {
	begin := time.Now()
	w.writing.Add(1)
	defer w.writing.Add(-1)
	for {
		piece := p[written:min(len(p), written+pieceSize)]
		if err = w.SetWriteDeadline(time.Now().Add(w.patience)); err != nil {
			break
		}
		var n int
		n, err = w.Conn.Write(piece)
		written += n
		if err != nil || written == len(p) {
			break
		}
	}
	w.lastWrite.Store(int64(w.since()))
	if time.Since(begin) > time.Second {
		// The broker cannot answer a packet before it has all of it.
		w.touch()
	}
	if err != nil {
		w.Fail(err)
	}
	return written, err
}

// Send writes whole packets.
func (w *Wire) Send(packets []byte) error {
	w.Lock()
	defer w.Unlock()
	_, err := w.Write(packets)
	return err
}

// Fail records an error of the connection, unless there is one already.
func (w *Wire) Fail(err error) {
	w.faultOnce.Do(func() {
		w.fault = err
		close(w.faulty)
	})
}

// failure returns the first error, or nil.
func (w *Wire) failure() error {
	select {
	case <-w.faulty:
		return w.fault
	default:
		return nil
	}
}

// dial opens the network connection.
func (o *Config) dial(ctx context.Context, hostPort string, secure bool) (net.Conn, error) {
	dial := o.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	conn, err := dial(ctx, "tcp", hostPort)
	if err != nil || !secure {
		return conn, err
	}
	config := &tls.Config{}
	if o.TLS != nil {
		config = o.TLS.Clone()
	}
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(hostPort)
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	return secured, nil
}
