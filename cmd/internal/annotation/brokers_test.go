package annotation_test

import (
	"bytes"
	"log/slog"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/cmd/internal/annotation"
	"github.com/iotenablers/enablers/internal/server"
)

func parse(t *testing.T, args ...string) (*annotation.Brokers, error) {
	t.Helper()
	f := server.NewFlags("thing", "THING", "")
	b := annotation.DeclareBrokers(f)
	return b, f.Parse(args)
}

func TestBrokers_Hosts_areThoseOfTheFlagAndOfOtherSettings(t *testing.T) {
	t.Setenv("THING_BROKER_HOSTS", " mqtt.example.org ,10.1.0.0/16,")
	b, err := parse(t)
	require.NoError(t, err)
	require.Equal(t, "mqtt.example.org,10.1.0.0/16", b.String())
	hosts, err := b.Hosts(annotation.Address{Host: "own.example.org", Port: 1883}, annotation.Address{Host: "[::1]", Port: 9092})
	require.NoError(t, err)
	require.NoError(t, hosts.Check("mqtt.example.org", 1))
	require.NoError(t, hosts.Check("own.example.org", 1883))
	require.NoError(t, hosts.Check("::1", 9092))
	for host, port := range map[string]int{"::1": 22, "127.0.0.1": 1883} {
		var field *annotate.FieldError
		require.ErrorAs(t, hosts.Check(host, port), &field)
		require.Contains(t, field.Reason, "-broker-hosts (THING_BROKER_HOSTS)")
	}
}

func TestBrokers_Hosts_isNilWithoutTheFlag(t *testing.T) {
	for _, args := range [][]string{nil, {"-broker-hosts", " , "}} {
		b, err := parse(t, args...)
		require.NoError(t, err)
		hosts, err := b.Hosts(annotation.Address{Host: "own.example.org", Port: 1883})
		require.NoError(t, err)
		require.Nil(t, hosts)
	}
	_, err := parse(t, "-broker-hosts", "tcp://mqtt.example.org")
	require.ErrorContains(t, err, "broker-hosts")
	require.ErrorContains(t, err, `"tcp://mqtt.example.org"`)
}

func TestBrokers_WarnIfOpen_warnsBeyondLoopbackWithoutAList(t *testing.T) {
	open := listener{&net.TCPAddr{IP: net.IPv4zero, Port: 80}}
	closed := listener{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}}
	for _, c := range []struct {
		at     net.Listener
		args   []string
		warned bool
	}{{open, nil, true}, {closed, nil, false}, {open, []string{"-broker-hosts", "mqtt.example.org"}, false}} {
		b, err := parse(t, c.args...)
		require.NoError(t, err)
		var log bytes.Buffer
		b.WarnIfOpen(slog.New(slog.NewTextHandler(&log, nil)), c.at)
		require.Equal(t, c.warned, log.Len() > 0, log.String())
		if c.warned {
			require.Contains(t, log.String(), "-broker-hosts (THING_BROKER_HOSTS)")
		}
	}
}

// listener is at an address.
type listener struct{ address net.Addr }

func (l listener) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (l listener) Close() error              { return nil }
func (l listener) Addr() net.Addr            { return l.address }
