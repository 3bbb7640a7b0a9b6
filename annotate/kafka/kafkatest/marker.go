package kafkatest

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"net"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// completing listens for connections on which the ends of transactions are
// completed: kfake writes them without the value that Kafka's have
// (EndTransactionMarker), and clients that look at it go astray.
type completing struct{ net.Listener }

func listenCompleting(network, address string) (net.Listener, error) {
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	return completing{l}, nil
}

// Accept implements net.Listener.
func (l completing) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &markerConn{Conn: conn, fetches: map[int32]int16{}}, nil
}

// markerConn follows the requests that are read from it and changes the
// answers to fetches that are written to it.
type markerConn struct {
	net.Conn
	requests bytes.Buffer // read and not yet a whole request
	answers  bytes.Buffer // written and not yet a whole answer

	mu      sync.Mutex
	fetches map[int32]int16 // the versions of the fetches, by correlation
}

// Read implements net.Conn.
func (c *markerConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.requests.Write(p[:n])
	for {
		request := frame(&c.requests)
		if request == nil {
			return n, err
		}
		if len(request) >= 12 && binary.BigEndian.Uint16(request[4:]) == uint16(kmsg.Fetch) {
			c.mu.Lock()
			c.fetches[int32(binary.BigEndian.Uint32(request[8:]))] = int16(binary.BigEndian.Uint16(request[6:]))
			c.mu.Unlock()
		}
	}
}

// Write implements net.Conn.
func (c *markerConn) Write(p []byte) (int, error) {
	c.answers.Write(p)
	for {
		answer := frame(&c.answers)
		if answer == nil {
			return len(p), nil
		}
		correlation := int32(binary.BigEndian.Uint32(answer[4:]))
		c.mu.Lock()
		version, isFetch := c.fetches[correlation]
		delete(c.fetches, correlation)
		c.mu.Unlock()
		if isFetch {
			answer = complete(answer, version)
		}
		if _, err := c.Conn.Write(answer); err != nil {
			return 0, err
		}
	}
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
