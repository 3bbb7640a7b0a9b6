package kafkatest

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"net"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// corrected is a listener that corrects two faults of kfake. Its records that end transactions
// lack the value of Kafka's (EndTransactionMarker), which some clients read. And it leaves a
// transaction open when a new producer with the same transactional id appears, unless the
// request has the number of the producer before (KIP-360).
type corrected struct {
	net.Listener
	producers *producers
}

// producers are the last known number and epoch by transactional id.
type producers struct {
	mu   sync.Mutex
	last map[string][]byte // as they are encoded, number and epoch
}

func listenCorrected(network, address string) (net.Listener, error) {
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	return corrected{l, &producers{last: map[string][]byte{}}}, nil
}

// Accept implements net.Listener.
func (l corrected) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &correctedConn{Conn: conn, producers: l.producers, asked: map[int32]question{}}, nil
}

// correctedConn changes some of the requests that are read from it, and some of the answers
// that are written to it.
type correctedConn struct {
	net.Conn
	producers *producers
	encrypted atomic.Bool  // requests cannot be read
	requests  bytes.Buffer // read and not yet a whole request
	ready     bytes.Buffer // whole requests
	answers   bytes.Buffer // written and not yet a whole answer

	mu    sync.Mutex
	asked map[int32]question // by correlation
}

// question is a request whose answer is changed or read.
type question struct {
	key, version  int16
	transactional string
}

// Read implements net.Conn.
func (c *correctedConn) Read(p []byte) (int, error) {
	for c.ready.Len() == 0 {
		if c.encrypted.Load() {
			return c.Conn.Read(p)
		}
		part := make([]byte, 32<<10)
		n, err := c.Conn.Read(part)
		const handshake = 22 // RFC 8446 section 5.1; no request is so long that it begins like this
		if n > 0 && c.requests.Len() == 0 && part[0] == handshake {
			c.encrypted.Store(true)
			c.ready.Write(part[:n])
			continue
		}
		c.requests.Write(part[:n])
		for request := frame(&c.requests); request != nil; request = frame(&c.requests) {
			c.note(request)
			c.ready.Write(request)
		}
		if err != nil && c.ready.Len() == 0 {
			return 0, err
		}
	}
	return c.ready.Read(p)
}

// note records a request whose answer is changed or read, and adds the number of the producer
// before to the request of a new producer.
func (c *correctedConn) note(request []byte) {
	if len(request) < 14 {
		return
	}
	q := question{key: int16(binary.BigEndian.Uint16(request[4:])), version: int16(binary.BigEndian.Uint16(request[6:]))}
	switch kmsg.Key(q.key) {
	case kmsg.Fetch:
	case kmsg.InitProducerID:
		init := kmsg.NewPtrInitProducerIDRequest()
		init.Version = q.version
		body := 14 + int(binary.BigEndian.Uint16(request[12:])) + 1 // after the client's name and no tags
		if q.version < 3 || body > len(request) || init.ReadFrom(request[body:]) != nil || init.TransactionalID == nil {
			return
		}
		q.transactional = *init.TransactionalID
		c.producers.mu.Lock()
		if last := c.producers.last[q.transactional]; last != nil && init.ProducerID < 0 {
			copy(request[len(request)-11:], last)
		}
		c.producers.mu.Unlock()
	default:
		return
	}
	c.mu.Lock()
	c.asked[int32(binary.BigEndian.Uint32(request[8:]))] = q
	c.mu.Unlock()
}

// Write implements net.Conn.
func (c *correctedConn) Write(p []byte) (int, error) {
	if c.encrypted.Load() {
		return c.Conn.Write(p)
	}
	c.answers.Write(p)
	for answer := frame(&c.answers); answer != nil; answer = frame(&c.answers) {
		correlation := int32(binary.BigEndian.Uint32(answer[4:]))
		c.mu.Lock()
		q, matters := c.asked[correlation]
		delete(c.asked, correlation)
		c.mu.Unlock()
		switch {
		case !matters:
		case kmsg.Key(q.key) == kmsg.Fetch:
			answer = complete(answer, q.version)
		default:
			c.producers.learn(q, answer)
		}
		if _, err := c.Conn.Write(answer); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// learn reads the answer to the request of a new producer.
func (p *producers) learn(q question, answer []byte) {
	init := kmsg.NewPtrInitProducerIDResponse()
	init.Version = q.version
	if init.ReadFrom(answer[9:]) != nil || init.ErrorCode != 0 {
		return
	}
	last := binary.BigEndian.AppendUint64(nil, uint64(init.ProducerID))
	p.mu.Lock()
	p.last[q.transactional] = binary.BigEndian.AppendUint16(last, uint16(init.ProducerEpoch))
	p.mu.Unlock()
}

// frame takes a request or answer off the buffer, with its length, or returns
// nil when it is not all there.
func frame(b *bytes.Buffer) []byte {
	if b.Len() < 4 {
		return nil
	}
	size := 4 + int(binary.BigEndian.Uint32(b.Bytes()))
	if b.Len() < size {
		return nil
	}
	return bytes.Clone(b.Next(size))
}

// complete rewrites the answer to a fetch.
func complete(answer []byte, version int16) []byte {
	response := kmsg.NewPtrFetchResponse()
	response.Version = version
	header := 8 // length and correlation
	if response.IsFlexible() {
		header++ // no tags
	}
	if response.ReadFrom(answer[header:]) != nil {
		return answer
	}
	changed := false
	for t := range response.Topics {
		for p := range response.Topics[t].Partitions {
			partition := &response.Topics[t].Partitions[p]
			batches, did := completeBatches(partition.RecordBatches)
			partition.RecordBatches, changed = batches, changed || did
		}
	}
	if !changed {
		return answer
	}
	whole := response.AppendTo(bytes.Clone(answer[:header]))
	binary.BigEndian.PutUint32(whole, uint32(len(whole)-4))
	return whole
}

// completeBatches gives the control records among the batches their value.
func completeBatches(batches []byte) (completed []byte, changed bool) {
	for rest := batches; len(rest) >= 61; {
		size := 12 + int(binary.BigEndian.Uint32(rest[8:]))
		if size > len(rest) {
			break
		}
		one := rest[:size]
		rest = rest[size:]
		var batch kmsg.RecordBatch
		var record kmsg.Record
		const control = 1 << 5
		if batch.ReadFrom(one) == nil && batch.Attributes&control != 0 && record.ReadFrom(batch.Records) == nil && len(record.Value) == 0 {
			one, changed = withValue(batch, record), true
		}
		completed = append(completed, one...)
	}
	if !changed {
		return batches, false
	}
	return completed, true
}

// withValue encodes a control record with a value: a version and the epoch of
// the coordinator, both zero.
func withValue(batch kmsg.RecordBatch, record kmsg.Record) []byte {
	record.Value = make([]byte, 6)
	record.Length = 0
	record.Length = int32(len(record.AppendTo(nil)) - 1)
	batch.Records = record.AppendTo(nil)
	encoded := batch.AppendTo(nil)
	batch.Length = int32(len(encoded) - 12)
	batch.CRC = int32(crc32.Checksum(encoded[21:], crc32.MakeTable(crc32.Castagnoli)))
	return batch.AppendTo(nil)
}
