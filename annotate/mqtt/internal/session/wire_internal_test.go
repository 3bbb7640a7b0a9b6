package session

import (
	"bytes"
	"math"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
)

// recording is a network connection that reads from memory.
type recording struct {
	net.Conn
	from *bytes.Reader
}

func (r recording) Read(p []byte) (int, error) { return r.from.Read(p) }
func (r recording) Close() error               { r.from.Reset(nil); return nil }

func wireOver(data []byte, limit uint32) *Wire {
	return newWire(recording{from: bytes.NewReader(data)}, limit, time.Second)
}

func TestWire_silence_isTheTimeSinceTheLastByte(t *testing.T) {
	require.Contains(t, wireOver(nil, math.MaxInt32).start.String(), " m=", "it has to outlast that the clock is set")
	synctest.Test(t, func(t *testing.T) {
		w := wireOver(nil, math.MaxInt32)
		time.Sleep(time.Hour)
		require.Equal(t, time.Hour, w.silence())
		require.Equal(t, time.Hour, w.idle())
		w.touch()
		require.Zero(t, w.silence())
		require.Equal(t, time.Hour, w.idle())
	})
}

// FuzzWire feeds the packet reader whatever a broker may send: it must end
// with an error or a packet of permitted size, and never panic.
func FuzzWire(f *testing.F) {
	var b bytes.Buffer
	for _, p := range []packets.Packet{
		&packets.Publish{Topic: "a/b", QoS: 1, PacketID: 7, Payload: []byte("x"), Properties: &packets.Properties{ContentType: "text/plain"}},
		&packets.Connack{Properties: &packets.Properties{ReasonString: "no"}},
		&packets.Suback{PacketID: 1, Reasons: []byte{1}, Properties: &packets.Properties{}},
		&packets.Puback{PacketID: 1, ReasonCode: 0x97, Properties: &packets.Properties{}},
		&packets.Disconnect{ReasonCode: 0x8e, Properties: &packets.Properties{}},
	} {
		_, err := p.WriteTo(&b)
		require.NoError(f, err)
		f.Add(b.Bytes())
	}
	f.Add([]byte{0x30, 0xff, 0xff, 0xff, 0x7f})
	f.Add([]byte{0x30, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, data []byte) {
		w := wireOver(data, 4096)
		for {
			if _, err := packets.ReadPacket(w); err != nil {
				return
			}
			require.LessOrEqual(t, w.left, 4096)
		}
	})
}

func TestPublisher_packetSize_isThatOfTheBroker(t *testing.T) {
	for _, payload := range []int{0, 1, 117, 118, 119, 16_372, 16_373, 16_374, 2_097_140, 2_097_141, 2_097_142} {
		m := annotate.Message{Topic: "topic", Payload: make([]byte, payload)}
		var b bytes.Buffer
		packet := packets.Publish{Topic: m.Topic, Payload: m.Payload, PacketID: 1, QoS: 1, Properties: &packets.Properties{}}
		_, err := packet.WriteTo(&b)
		require.NoError(t, err)
		require.Equal(t, b.Len(), packetSize(&m, true), "with a payload of %d bytes", payload)

		w := wireOver(b.Bytes(), uint32(b.Len()))
		read, err := packets.ReadPacket(w)
		require.NoError(t, err)
		require.Len(t, read.Content.(*packets.Publish).Payload, payload)
		_, err = packets.ReadPacket(wireOver(b.Bytes(), uint32(b.Len()-1)))
		require.ErrorContains(t, err, "the limit is")
	}
}
