package session

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	old "github.com/eclipse/paho.mqtt.golang/packets"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
)

// record is a traffic that remembers what came.
type record struct {
	forgotten
	messages []inbound
	answers  []uint16
}

func (r *record) received(_ *Connection, m *inbound)          { r.messages = append(r.messages, *m) }
func (r *record) confirmed(_ *Connection, id uint16, _ error) { r.answers = append(r.answers, id) }
func (r *record) ready(context.Context, *Connection) error    { return nil }

// dialect is a Version that only knows whether there are properties.
type dialect struct {
	Version
	properties bool
}

func (d dialect) HasProperties() bool { return d.properties }

// readAll takes packets in as the drivers do, with the shortcut or without.
func readAll(data []byte, properties, quick bool) (*record, error) {
	r := &record{}
	c := newConnection(wireOver(data, 4096), r, dialect{properties: properties})
	if quick {
		c.Accept(Terms{})
	}
	for {
		var err error
		if properties {
			err = readNew(c)
		} else {
			err = readOld(c)
		}
		if err != nil {
			return r, err
		}
	}
}

func readNew(c *Connection) error {
	p, err := packets.ReadPacket(c.Wire)
	if err != nil {
		return err
	}
	switch p := p.Content.(type) {
	case *packets.Publish:
		c.Received(p.Topic, p.Payload, p.PacketID, p.QoS, readProperties(p))
	case *packets.Puback:
		c.Confirmed(p.PacketID, nil)
	}
	return nil
}

func readProperties(p *packets.Publish) annotate.Trace {
	var user UserProperties
	for _, property := range p.Properties.User {
		user.Add([]byte(property.Key), []byte(property.Value))
	}
	return user.Trace()
}

func readOld(c *Connection) error {
	p, err := old.ReadPacket(c.Wire)
	if err != nil {
		return err
	}
	switch p := p.(type) {
	case *old.PublishPacket:
		c.Received(p.TopicName, p.Payload, p.MessageID, p.Qos, annotate.Trace{})
	case *old.PubackPacket:
		c.Confirmed(p.MessageID, nil)
	}
	return nil
}

func TestConnection_take_keepsTheOrderOfPackets(t *testing.T) {
	for _, properties := range []bool{false, true} {
		var b []byte
		var want []inbound
		for n, payload := range []string{"", "x", string(make([]byte, 200)), string(make([]byte, 3000))} {
			m := inbound{id: uint16(n + 1), qos: 1}
			m.message.Topic, m.message.Payload = "a/b", []byte(payload)
			want = append(want, m)
			b = appendPublish(b, &m.message, m.id, n%2 == 1, properties)
			b = appendPuback(b, m.id)
		}
		r, err := readAll(b, properties, true)
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, want, r.messages)
		require.Equal(t, []uint16{1, 2, 3, 4}, r.answers)
	}
}

// FuzzShortcut compares what is taken in with the shortcut and with the
// libraries alone, which must be the same as far as these understand it.
func FuzzShortcut(f *testing.F) {
	var b bytes.Buffer
	for _, p := range []packets.Packet{
		&packets.Publish{Topic: "a/b", QoS: 1, PacketID: 7, Payload: []byte("x"), Properties: &packets.Properties{}},
		&packets.Publish{Topic: "a/b", QoS: 1, PacketID: 8, Properties: &packets.Properties{ContentType: "text/plain"}},
		&packets.Publish{Topic: "a/b", QoS: 1, PacketID: 9, Properties: &packets.Properties{User: []packets.User{
			{Key: "traceparent", Value: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, {Key: "tracestate", Value: "a=b"}}}},
		&packets.Puback{PacketID: 1, ReasonCode: 0x97, Properties: &packets.Properties{}},
	} {
		_, err := p.WriteTo(&b)
		require.NoError(f, err)
		f.Add(b.Bytes(), true)
	}
	f.Add([]byte{0x32, 5, 0, 1, 't', 0, 7, 0x40, 2, 0, 7, 0x32, 6, 0, 2, 't', 'u', 0, 8}, false)
	f.Fuzz(func(t *testing.T, data []byte, properties bool) {
		plain, _ := readAll(data, properties, false)
		quick, err := readAll(data, properties, true)
		require.Error(t, err)
		require.GreaterOrEqual(t, len(quick.messages), len(plain.messages))
		for n := range plain.messages {
			require.Equal(t, plain.messages[n].message.Topic, quick.messages[n].message.Topic)
			require.True(t, bytes.Equal(plain.messages[n].message.Payload, quick.messages[n].message.Payload))
			require.Equal(t, plain.messages[n].id, quick.messages[n].id)
			require.Equal(t, plain.messages[n].message.Trace, quick.messages[n].message.Trace)
		}
		require.Equal(t, plain.answers, quick.answers[:len(plain.answers)])
	})
}

func TestConnection_take_readsUserProperties(t *testing.T) {
	trace := annotate.Trace{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", State: "vendor=1"}
	long := annotate.Trace{Parent: trace.Parent, State: strings.Repeat("x", 1024)} // two digits of length
	var b []byte
	var want []inbound
	for n, carried := range []annotate.Trace{trace, {}, long, {Parent: trace.Parent}} {
		m := inbound{id: uint16(n + 1), qos: 1}
		m.message.Topic = "a/b"
		m.message.Payload = []byte{}
		m.message.Trace = carried
		want = append(want, m)
		before := len(b)
		b = appendPublish(b, &m.message, m.id, false, true)
		require.Equal(t, len(b)-before, packetSize(&m.message, true))
	}
	plain, _ := readAll(b, true, false)
	require.Equal(t, want, plain.messages, "as the library reads it")
	c := newConnection(wireOver(b, 4096), &record{}, dialect{properties: true})
	c.Accept(Terms{})
	one := make([]byte, 1)
	_, err := c.Wire.Read(one)
	require.ErrorIs(t, err, io.EOF, "every packet was read the quick way")
	require.Equal(t, want, c.traffic.(*record).messages)
}

// The head of a packet may be larger than the buffer that it is looked at in.
func TestConnection_take_leavesALongHeadToTheLibrary(t *testing.T) {
	user := packets.Properties{User: []packets.User{{Key: "k", Value: strings.Repeat("v", 200)}}}
	for length := 65_480; length <= 65_535; length++ {
		var b bytes.Buffer
		packet := packets.Publish{Topic: strings.Repeat("t", length), QoS: 1, PacketID: 7, Payload: []byte("x"), Properties: &user}
		_, err := packet.WriteTo(&b)
		require.NoError(t, err)
		r := &record{}
		c := newConnection(wireOver(b.Bytes(), 1<<20), r, dialect{properties: true})
		c.Accept(Terms{})
		for err = nil; err == nil; {
			err = readNew(c)
		}
		require.ErrorIs(t, err, io.EOF)
		require.Len(t, r.messages, 1, "with a topic of %d bytes", length)
		require.Len(t, r.messages[0].message.Topic, length)
	}
}
