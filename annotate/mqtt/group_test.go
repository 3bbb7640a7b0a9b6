package mqtt_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// shared are settings of a member of the group g.
func shared(version string, a interface {
	Topic(name, clientID string) annotate.Topic
}) annotate.Topic {
	s := with(version, a.Topic("t", "channel"))
	mqtttest.Change(&s, func(m *mqtt.Settings) { m.ShareName = "g" })
	return s
}

// collect takes what comes until nothing does for a while, and acknowledges
// it. On a slow machine more may come later.
func collect(t *testing.T, s annotate.Subscription, into map[int]int) (taken []int) {
	t.Helper()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		d, err := s.Receive(ctx)
		cancel()
		if err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			return taken
		}
		n := int(binary.BigEndian.Uint32(d.Payload))
		into[n]++
		taken = append(taken, n)
		d.Ack()
	}
}

// collectAll takes what comes to the members until it is so many messages in
// all, and what else there may be.
func collectAll(t *testing.T, members []annotate.Subscription, into map[int]int, total int) (taken [][]int) {
	t.Helper()
	taken = make([][]int, len(members))
	late := time.Now().Add(patience)
	for whole := false; !whole && time.Now().Before(late); {
		whole = len(into) >= total
		for i, s := range members {
			taken[i] = append(taken[i], collect(t, s, into)...)
		}
	}
	require.Len(t, into, total, "messages were lost")
	return taken
}

// versions are what a test of both drivers runs over.
func versions() []string { return []string{mqtt.Version5, mqtt.Version311} }

func TestBroker_Subscribe_instancesShareMessages(t *testing.T) {
	for _, version := range versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			address := mqtttest.StartMosquitto(t)
			b := swift(mqtt.Options{})
			var members []annotate.Subscription
			for n := range 3 {
				s, err := b.Subscribe(t.Context(), shared(version, address), annotate.ConnectOptions{Instance: fmt.Sprintf("pod-%d", n)})
				require.NoError(t, err)
				members = append(members, s)
			}
			p, err := b.Connect(t.Context(), address.Topic("t", "out"), annotate.ConnectOptions{})
			require.NoError(t, err)
			publish(t, p, 0, 300)
			require.NoError(t, p.Close(t.Context()))
			got := map[int]int{}
			for _, taken := range collectAll(t, members, got, 300) {
				require.NotEmpty(t, taken)
				require.IsIncreasing(t, taken, "order within a member")
			}
			for n, times := range got {
				require.Equal(t, 1, times, "message %d", n)
			}
			for _, s := range members {
				require.NoError(t, s.Health(), "the instances took the session from each other")
				require.NoError(t, s.Forget(t.Context()))
			}
		})
	}
}

// Mosquitto keeps the share of a disconnected member in the member's session, and does
// not pass it to other members. A successor with the same client identifier gets it.
func TestBroker_Subscribe_successorGetsTheMessagesOfADeadMember(t *testing.T) {
	for _, version := range versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			address := mqtttest.StartMosquitto(t)
			proxy := mqtttest.NewProxy(t, address.Address)
			b := swift(mqtt.Options{})
			stays, err := b.Subscribe(t.Context(), shared(version, address), annotate.ConnectOptions{Instance: "stays"})
			require.NoError(t, err)
			dies, err := b.Subscribe(t.Context(), shared(version, proxy), annotate.ConnectOptions{Instance: "dies"})
			require.NoError(t, err)
			p, err := b.Connect(t.Context(), address.Topic("t", "out"), annotate.ConnectOptions{})
			require.NoError(t, err)
			publish(t, p, 0, 100)
			got := map[int]int{}
			collect(t, stays, got)
			before := len(got)
			require.Less(t, before, 100)

			proxy.Cut() // the other one received its share and acknowledged nothing
			require.Eventually(t, func() bool { return dies.Health() != nil }, patience, time.Millisecond)
			publish(t, p, 100, 200)
			require.NoError(t, p.Close(t.Context()))
			collect(t, stays, got)
			t.Logf("%d of the first 100 and %d of the second came to the member that stayed", before, len(got)-before)
			require.Less(t, len(got), 200)
			require.NoError(t, dies.Close(t.Context()))

			heir, err := b.Subscribe(t.Context(), shared(version, address), annotate.ConnectOptions{Instance: "dies"})
			require.NoError(t, err)
			require.IsIncreasing(t, collectAll(t, []annotate.Subscription{heir, stays}, got, 200)[0])
			require.NoError(t, heir.Forget(t.Context()))
			require.NoError(t, stays.Forget(t.Context()))
		})
	}
}

func TestBroker_Subscribe_instancesHaveOwnClientIdentifiers(t *testing.T) {
	p := &peer{answer: func(conn net.Conn, packet *packets.ControlPacket) { grant(conn, packet, 1) }}
	p.start(t)
	connected := 0
	identifier := func(clientID, instance string) string {
		settings := p.settings("t")
		mqtttest.Change(&settings, func(m *mqtt.Settings) { m.ClientID = clientID })
		s, err := mqtt.New(&mqtt.Options{MemberExpiry: time.Minute}).Subscribe(t.Context(), settings, annotate.ConnectOptions{Instance: instance})
		require.NoError(t, err)
		require.NoError(t, s.Close(t.Context()))
		c := p.connect(connected)
		connected++
		expiry := uint32(60)
		if instance == "" {
			expiry = uint32(mqtt.DefaultSessionExpiry / time.Second)
		}
		require.Equal(t, expiry, *c.Properties.SessionExpiryInterval)
		return c.ClientID
	}
	require.Equal(t, "channel", identifier("channel", ""))
	require.Equal(t, strings.Repeat("long", 10), identifier(strings.Repeat("long", 10), ""), "it is the user's")
	require.Equal(t, "channel-annotator-0", identifier("channel", "annotator-0"))
	one, two := identifier("annotator-source", "annotator-0"), identifier("annotator-source", "annotator-1")
	require.NotEqual(t, one, two)
	require.Equal(t, one, identifier("annotator-source", "annotator-0"))
	require.Len(t, one, 23)
	require.Equal(t, "annotator--", one[:11])
	require.NotEqual(t, identifier("äääääääää", "annotator-0"), identifier("äääääääää", "annotator-1"))
}

func TestBroker_Subscribe_refusesBadShareNames(t *testing.T) {
	for want, change := range map[string]func(*annotate.Topic){
		`mqttSettings.shareName "a/b"`: func(s *annotate.Topic) { mqtttest.Change(s, func(m *mqtt.Settings) { m.ShareName = "a/b" }) },
		"has a share name already": func(s *annotate.Topic) {
			mqtttest.Change(s, func(m *mqtt.Settings) { m.ShareName = "g" })
			s.Name = "$share/h/t"
		},
		"the topic filter has 65543 bytes": func(s *annotate.Topic) {
			mqtttest.Change(s, func(m *mqtt.Settings) { m.ShareName = "g" })
			s.Name = strings.Repeat("t", 65_534)
		},
	} {
		s := mqtttest.Address{Host: "127.0.0.1", Port: 1}.Topic("t", "c")
		change(&s)
		_, err := mqtt.New(nil).Subscribe(t.Context(), s, annotate.ConnectOptions{})
		require.ErrorContains(t, err, want)
		require.NotErrorIs(t, err, annotate.ErrBrokerUnavailable)
	}
}
