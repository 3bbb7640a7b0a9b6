package mqtt3_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/eclipse/paho.mqtt.golang/packets"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt"
)

// scripted is a network connection that reads from memory.
type scripted struct {
	net.Conn
	mu   sync.Mutex
	from *bytes.Reader
}

func (s *scripted) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.from.Read(p)
}

func (s *scripted) Write(p []byte) (int, error)      { return len(p), nil }
func (s *scripted) SetWriteDeadline(time.Time) error { return nil }

func (s *scripted) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from.Reset(nil)
	return nil
}

// FuzzBroker subscribes with whatever a broker may send: it must end with an
// error or a subscription that can be closed, and never panic or hang.
func FuzzBroker(f *testing.F) {
	var b bytes.Buffer
	add := func(p packets.ControlPacket) {
		require.NoError(f, p.Write(&b))
		f.Add(b.Bytes())
	}
	add(packets.NewControlPacket(packets.Connack))
	suback := packets.NewControlPacket(packets.Suback).(*packets.SubackPacket)
	suback.MessageID, suback.ReturnCodes = 65_535, []byte{1}
	add(suback)
	publish := packets.NewControlPacket(packets.Publish).(*packets.PublishPacket)
	publish.Qos = 1
	publish.TopicName = "t"
	publish.MessageID = 7
	publish.Payload = []byte("x")
	add(publish)
	for _, kind := range []byte{packets.Puback, packets.Pingresp, packets.Pubrel, packets.Unsuback} {
		add(packets.NewControlPacket(kind))
	}
	f.Add([]byte{0x20, 0xff, 0xff, 0xff, 0x7f})
	settings := annotate.Topic{
		Name: "t", Broker: mqtt.Type,
		Settings: mqtt.Settings{Protocol: "tcp", Host: "broker", ClientID: "c"},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dials := 0
		broker := newOld(&mqtt.Options{
			MaxPacketSize: 4096, ReconnectMin: time.Hour,
			Dial: func(context.Context, string, string) (net.Conn, error) {
				if dials++; dials > 1 {
					return nil, io.ErrClosedPipe
				}
				return &scripted{from: bytes.NewReader(data)}, nil
			},
		})
		s, err := broker.Subscribe(t.Context(), settings, annotate.ConnectOptions{})
		if err != nil {
			require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
			return
		}
		_ = s.Close(t.Context())
	})
}
