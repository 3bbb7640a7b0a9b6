package outbound

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// dialled records the addresses that are connected to, each with the error that it gets.
type dialled struct {
	addresses []string
	failure   error
}

func (d *dialled) dial(_ context.Context, _, address string) (net.Conn, error) {
	d.addresses = append(d.addresses, address)
	if d.failure != nil {
		return nil, d.failure
	}
	return &net.TCPConn{}, nil
}

// zone resolves names.
type zone map[string][]string

func (z zone) resolve(_ context.Context, _, host string) ([]netip.Addr, error) {
	var all []netip.Addr
	for _, text := range z[host] {
		all = append(all, netip.MustParseAddr(text))
	}
	if all == nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return all, nil
}

func TestHosts_dial_connectsToResolvedAddressesOfTheListOnly(t *testing.T) {
	h, err := ParseHosts([]string{"mqtt.example.org", "10.1.0.0/16", "[fd00::1]:1883"})
	require.NoError(t, err)
	names := zone{
		"inside.example.org": {"10.1.2.3"}, "both.example.org": {"127.0.0.1", "::ffff:10.1.2.4", "10.2.0.1"},
		"rebound.example.org": {"127.0.0.1", "::1"}, "six.example.org": {"fd00::1", "fd00::2"}, "mqtt.example.org": {"127.0.0.1"},
	}
	for address, want := range map[string][]string{
		"mqtt.example.org:1883":     {"mqtt.example.org:1883"}, // trusted by its name, wherever it is
		"MQTT.example.org.:1":       {"MQTT.example.org.:1"},
		"10.1.255.255:9092":         {"10.1.255.255:9092"},
		"inside.example.org:1883":   {"10.1.2.3:1883"},
		"both.example.org:1883":     {"10.1.2.4:1883"},
		"six.example.org:1883":      {"[fd00::1]:1883"},
		"six.example.org:1884":      nil,
		"rebound.example.org:1883":  nil,
		"127.0.0.1:1883":            nil,
		"[::1]:1883":                nil,
		"[::ffff:127.0.0.1]:1883":   nil,
		"[::ffff:10.1.0.1%eth0]:80": {"10.1.0.1:80"},
		"absent.example.org:1883":   nil,
		"a.mqtt.example.org:1883":   nil,
		"xmqtt.example.org:1883":    nil,
		"10.2.0.1:1883":             nil,
	} {
		d := &dialled{}
		_, err := h.dial(t.Context(), d.dial, names.resolve, "tcp", address)
		require.Equal(t, want, d.addresses, address)
		if want == nil {
			require.EqualError(t, err, "outbound: address refused: "+address+" is not on the list of hosts",
				"one error, whether the name exists and whatever listens there")
			require.ErrorIs(t, err, ErrRefused)
			continue
		}
		require.NoError(t, err, address)
	}
}

// A name that has another address each time it is resolved is resolved once.
func TestHosts_dial_resolvesOnce(t *testing.T) {
	h, err := ParseHosts([]string{"10.1.0.0/16"})
	require.NoError(t, err)
	asked := 0
	rebinding := func(context.Context, string, string) ([]netip.Addr, error) {
		asked++
		if asked == 1 {
			return []netip.Addr{netip.MustParseAddr("10.1.0.1")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	d := &dialled{}
	_, err = h.dial(t.Context(), d.dial, rebinding, "tcp", "rebinding.example.org:1883")
	require.NoError(t, err)
	require.Equal(t, []string{"10.1.0.1:1883"}, d.addresses)
	_, err = h.dial(t.Context(), d.dial, rebinding, "tcp", "rebinding.example.org:1883")
	require.ErrorIs(t, err, ErrRefused)
	require.Len(t, d.addresses, 1)
}

func TestHosts_dial_returnsTheErrorsOfHostsOfTheList(t *testing.T) {
	h, err := ParseHosts([]string{"10.1.0.0/16"})
	require.NoError(t, err)
	d := &dialled{failure: errors.New("connection refused")}
	_, err = h.dial(t.Context(), d.dial, zone{"two.example.org": {"10.1.0.1", "10.1.0.2"}}.resolve, "tcp", "two.example.org:1883")
	require.ErrorContains(t, err, "connection refused")
	require.NotErrorIs(t, err, ErrRefused)
	require.Len(t, d.addresses, 2)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = h.dial(ended, d.dial, zone{}.resolve, "tcp", "two.example.org:1883")
	require.ErrorIs(t, err, context.Canceled)
	for _, address := range []string{"two.example.org", "two.example.org:mqtt", ""} {
		_, err = h.dial(t.Context(), d.dial, zone{}.resolve, "tcp", address)
		require.ErrorIs(t, err, ErrRefused, address)
	}
	require.Len(t, d.addresses, 2)
}
