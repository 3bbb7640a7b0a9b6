package mqtt3_test

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/eclipse/paho.mqtt.golang/packets"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

func TestBroker_refusedConnection_namesCauseAndSetting(t *testing.T) {
	for code, want := range map[byte]string{
		1: "unacceptable protocol version (MQTT 3.1.1 return code 1); see mqttSettings.version",
		2: "client identifier rejected (MQTT 3.1.1 return code 2); see mqttSettings.clientId",
		3: "server unavailable (MQTT 3.1.1 return code 3)",
		4: "bad user name or password (MQTT 3.1.1 return code 4); see mqttSettings.user and password",
		5: "not authorized (MQTT 3.1.1 return code 5); see mqttSettings.user and password",
		9: "unknown reason (MQTT 3.1.1 return code 9)",
	} {
		p := &peer{connack: func(int) byte { return code }}
		p.start(t)
		settings := p.Topic("in", "c")
		mqtttest.Change(&settings, func(m *mqtt.Settings) { m.User, m.Password = "station-7", "a secret" })
		_, err := newOld(nil).Subscribe(t.Context(), settings, annotate.ConnectOptions{})
		require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
		require.ErrorContains(t, err, `subscribe to topic "in": MQTT broker `+p.String())
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "a secret")
		require.Equal(t, "a secret", string(p.connect(0).Password))
	}
}

func TestBroker_Subscribe_failsWhenNotGranted(t *testing.T) {
	for want, codes := range map[string][]byte{
		"the user may not be allowed to read the topic": {0x80},
		"granted QoS [0] instead of QoS 1":              {0},
		"with 2 return codes where it was asked for":    {1, 1},
		"with 0 return codes":                           {},
	} {
		p := &peer{answer: func(conn net.Conn, packet packets.ControlPacket) { grant(conn, packet, codes...) }}
		p.start(t)
		_, err := newOld(nil).Subscribe(t.Context(), p.Topic("in", "c"), annotate.ConnectOptions{})
		require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
		require.ErrorContains(t, err, want)
	}
}

func TestBroker_refusesBadSettings(t *testing.T) {
	p := &peer{}
	p.start(t)
	for want, change := range map[string]func(*annotate.Topic){
		`protocol "ws": MQTT over WebSocket`: func(s *annotate.Topic) {
			mqtttest.Change(s,
				func(m *mqtt.Settings) { m.Protocol = "ws" })
		},
		"mqttSettings.password is set without a user": func(s *annotate.Topic) {
			mqtttest.Change(s,
				func(m *mqtt.Settings) { m.Password = "x" })
		},
		"no MQTT settings": func(s *annotate.Topic) { s.Settings = nil },
	} {
		s := p.Topic("t", "c")
		change(&s)
		_, err := newOld(nil).Subscribe(t.Context(), s, annotate.ConnectOptions{})
		require.ErrorContains(t, err, want)
		require.NotErrorIs(t, err, annotate.ErrBrokerUnavailable)
		_, err = newOld(nil).Connect(t.Context(), s, annotate.ConnectOptions{})
		require.ErrorContains(t, err, want)
	}
	require.Nil(t, p.connect(0))
}

func TestBroker_Connect_failsAMessageThatDisconnectsAlone(t *testing.T) {
	for name, poison := range map[string]int{"the first": 0, "one in the middle": 5, "the last": 9} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			seen := map[string]int{}
			p := &peer{answer: func(conn net.Conn, packet packets.ControlPacket) {
				m := packet.(*packets.PublishPacket)
				mu.Lock()
				seen[string(m.Payload)]++
				mu.Unlock()
				if int(m.Payload[0]) == poison {
					_ = conn.Close()
					return
				}
				confirm(conn, m)
			}}
			p.start(t)
			pub, err := swift(mqtt.Options{}).Connect(t.Context(), p.Topic("t", "c"), annotate.ConnectOptions{})
			require.NoError(t, err)
			var order []int
			var errs []error
			for n := range 10 {
				require.NoError(t, pub.Publish(t.Context(), annotate.Message{Payload: []byte{byte(n)}}, func(err error) {
					order = append(order, n)
					errs = append(errs, err)
				}))
			}
			require.NoError(t, pub.Close(t.Context()))
			require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, order)
			for n, err := range errs {
				if n == poison {
					require.ErrorContains(t, err, `publish on topic "t": the broker closed the connection each time it was sent`)
				} else {
					require.NoError(t, err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			require.LessOrEqual(t, seen[string([]byte{byte(poison)})], 50, "it was sent again and again")
		})
	}
}

func TestBroker_Connect_losesNoMessageInOutages(t *testing.T) {
	// Nine connections in a row are lost upon the first message, with a refusal
	// to connect between them: then it is not the message.
	var mu sync.Mutex
	lost := 0
	p := &peer{}
	p.answer = func(conn net.Conn, packet packets.ControlPacket) {
		mu.Lock()
		defer mu.Unlock()
		if lost++; lost <= 9 {
			_ = conn.Close()
			return
		}
		confirm(conn, packet.(*packets.PublishPacket))
	}
	p.start(t)
	dials := 0
	b := swift(mqtt.Options{Dial: everySecond(&dials)})
	pub, err := b.Connect(t.Context(), p.Topic("t", "c"), annotate.ConnectOptions{})
	require.NoError(t, err)
	publish(t, pub, 0, 20)
	require.NoError(t, pub.Close(t.Context()))
	require.NotNil(t, p.connect(9))
	require.Equal(t, uint64(9), pub.(interface{ Reconnects() uint64 }).Reconnects())
}

func TestBroker_malformedPackets_endTheConnectionOnly(t *testing.T) {
	for want, wrong := range map[string][]byte{
		"a PUBLISH with QoS 2":         {0x34, 6, 0, 1, 't', 0, 7, 'x'},
		"packet identifier 0":          {0x32, 6, 0, 1, 't', 0, 0, 'x'},
		"an unexpected PUBREL":         {0x62, 2, 0, 1},
		"a PUBACK of 4 bytes":          {0x40, 4, 0, 1, 0, 0},
		"a SUBACK without a SUBSCRIBE": {0x90, 4, 0xff, 0xff, 1, 1, 0x90, 3, 0xff, 0xff, 1},
		"malformed packet length":      {0x30, 0xff, 0xff, 0xff, 0xff, 1},
		"a malformed packet":           {0x32, 3, 0, 9, 't'},
		"unsupported packet type":      {0xf0, 0},
		"the limit is 1000":            {0x30, 0xff, 0xff, 0x7f},
	} {
		t.Run(want, func(t *testing.T) {
			p := &peer{connack: func(n int) byte {
				if n > 0 {
					return 3
				}
				return 0
			}}
			subscribed := make(chan net.Conn, 1)
			p.answer = func(conn net.Conn, packet packets.ControlPacket) {
				if grant(conn, packet, 1) {
					subscribed <- conn
				}
			}
			p.start(t)
			b := newOld(&mqtt.Options{MaxPacketSize: 1000, ReconnectMin: time.Hour})
			s, err := b.Subscribe(t.Context(), p.Topic("in", "c"), annotate.ConnectOptions{})
			require.NoError(t, err)
			_, err = (<-subscribed).Write(wrong)
			require.NoError(t, err)
			require.Eventually(t, func() bool { return s.Health() != nil }, patience, time.Millisecond)
			require.ErrorContains(t, s.Health(), want)
			require.NoError(t, s.Close(t.Context()))
		})
	}
}
