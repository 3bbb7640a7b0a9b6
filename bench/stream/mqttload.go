package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iotenablers/enablers/bench/stream/workload"
)

// The generator and the sink speak MQTT 3.1.1 by hand, many packets to a
// write, so that they take little of the processor time that the programs
// under test could use. Packet types (MQTT 3.1.1 section 2.2.1):
const (
	connect   = 1 << 4
	connack   = 2 << 4
	publish   = 3 << 4
	puback    = 4 << 4
	subscribe = 8<<4 | 2
	suback    = 9 << 4
	qos1      = 1 << 1
)

// client is a connection to an MQTT broker with a session that ends with it.
type client struct {
	net.Conn
	in  *bufio.Reader
	out *bufio.Writer
}

func dialMQTT(address, id string) (*client, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	c := &client{conn, bufio.NewReaderSize(conn, 1<<16), bufio.NewWriterSize(conn, 1<<16)}
	body := append([]byte{0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 0}, field(id)...)
	c.write(connect, body)
	return c, errors.Join(c.out.Flush(), c.expect(connack))
}

func field(text string) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(text))), text...)
}

func (c *client) write(first byte, parts ...[]byte) {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	_, _ = c.out.Write(binary.AppendUvarint([]byte{first}, uint64(size))) // Flush reports it
	for _, part := range parts {
		_, _ = c.out.Write(part)
	}
}

// read returns the next packet, its body in the memory of into.
func (c *client) read(into []byte) (first byte, body []byte, err error) {
	if first, err = c.in.ReadByte(); err != nil {
		return 0, nil, err
	}
	size, err := binary.ReadUvarint(c.in)
	if err != nil {
		return 0, nil, err
	}
	if uint64(cap(into)) < size {
		into = make([]byte, size)
	}
	body = into[:size]
	_, err = io.ReadFull(c.in, body)
	return first, body, err
}

func (c *client) expect(want byte) error {
	first, body, err := c.read(nil)
	if err == nil && (first != want || body[len(body)-1] >= 0x80) {
		err = fmt.Errorf("the broker answered %x % x", first, body)
	}
	return err
}

// sink enters what arrives on a topic into a ledger.
type sink struct {
	*client
	arrived func(n int) // is called with the number of each message; may be nil
	ended   chan error
}

func newSink(address, topic string, ledger *workload.Ledger, arrived func(int)) (*sink, error) {
	c, err := dialMQTT(address, "sink")
	if err != nil {
		return nil, err
	}
	c.write(subscribe, []byte{0, 1}, field(topic), []byte{1})
	if err := errors.Join(c.out.Flush(), c.expect(suback)); err != nil {
		return nil, err
	}
	s := &sink{c, arrived, make(chan error, 1)}
	go func() { s.ended <- s.run(ledger) }()
	return s, nil
}

func (s *sink) run(ledger *workload.Ledger) error {
	buffer := make([]byte, 1<<16)
	for {
		if s.in.Buffered() == 0 {
			if err := s.out.Flush(); err != nil {
				return err
			}
		}
		first, body, err := s.read(buffer)
		if err != nil {
			return err
		}
		if first&0xf0 != publish || len(body) < 4 {
			return fmt.Errorf("the sink got a packet of type %x", first)
		}
		at := 2 + int(binary.BigEndian.Uint16(body))
		id := body[at : at+2]
		if n := ledger.Enter(body[at+2:]); s.arrived != nil && n >= 0 {
			s.arrived(n)
		}
		s.write(puback, id)
	}
}

// generator publishes the messages with QoS 1.
type generator struct {
	*client
	topic     string
	confirmed atomic.Int64
	reading   sync.WaitGroup
}

func newGenerator(address, topic string) (*generator, error) {
	c, err := dialMQTT(address, "generator")
	if err != nil {
		return nil, err
	}
	g := &generator{client: c, topic: topic}
	g.reading.Go(func() {
		buffer := make([]byte, 64)
		for {
			first, _, err := g.read(buffer)
			if err != nil || first != puback {
				return
			}
			g.confirmed.Add(1)
		}
	})
	return g, nil
}

// run sends the messages up to total as far as allowed says, which may be
// asked for the number of messages that may have been sent by now.
func (g *generator) run(ctx context.Context, total int, allowed func() int64, sent func(n int)) error {
	const unconfirmed = 10_000
	w := workload.NewWeather()
	topic := field(g.topic)
	var id [2]byte
	for n := 0; n < total; {
		limit := min(int64(total), allowed(), g.confirmed.Load()+unconfirmed)
		if int64(n) >= limit {
			if err := errors.Join(g.out.Flush(), ctx.Err()); err != nil {
				return err
			}
			time.Sleep(200 * time.Microsecond)
			continue
		}
		for ; int64(n) < limit; n++ {
			binary.BigEndian.PutUint16(id[:], uint16(n%65535)+1)
			if sent != nil {
				sent(n)
			}
			g.write(publish|qos1, topic, id[:], w.Message(n))
		}
	}
	if err := g.out.Flush(); err != nil {
		return err
	}
	for g.confirmed.Load() < int64(total) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

func (g *generator) close() {
	_ = g.Close()
	g.reading.Wait()
}
