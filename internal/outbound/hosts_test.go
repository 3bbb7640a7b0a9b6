package outbound_test

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/outbound"
)

func ExampleParseHosts() {
	hosts, err := outbound.ParseHosts([]string{"mqtt.example.org:1883", "*.kafka.example.org", "10.1.0.0/16"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(hosts.Check("mqtt.example.org", 1883))
	fmt.Println(hosts.Check("10.2.0.1", 1883))
	// Output:
	// <nil>
	// outbound: address refused: 10.2.0.1:1883 is not on the list of hosts
}

func TestParseHosts_refusesWhatIsNoHost(t *testing.T) {
	for _, entry := range []string{
		"", "*", "*.", ".", ".example.org", "a..b", "tcp://mqtt.example.org", "mqtt.example.org/24", "host:", "host:0", "host:65536",
		"host:mqtt", "two words", "127.1", "2130706433", "0x7f.1", "1.2.3.4.5", "a.*.org", "*a.org", "10.0.0.0/33", "[::1", "::1:x", "user@host",
	} {
		_, err := outbound.ParseHosts([]string{"ok.example.org", entry})
		require.ErrorContains(t, err, fmt.Sprintf("%q: ", entry))
	}
	_, err := outbound.ParseHosts(nil)
	require.Error(t, err, "an empty list allows nothing, and would be taken for every host")
}

func TestHosts_Check_decidesWithoutResolving(t *testing.T) {
	for name, c := range map[string]struct {
		list             []string
		allowed, refused []string
	}{
		"a name": {[]string{"mqtt.example.org"},
			[]string{"mqtt.example.org:1", "MQTT.Example.ORG.:2"},
			[]string{"example.org:1", "a.mqtt.example.org:1", "10.0.0.1:1", "127.1:1", "[::1]:1"}},
		"a name and port": {[]string{"mqtt.example.org:1883"},
			[]string{"mqtt.example.org:1883"}, []string{"mqtt.example.org:22"}},
		"a domain": {[]string{"*.example.org:9092"},
			[]string{"a.example.org:9092", "a.b.example.org:9092"},
			[]string{"example.org:9092", "badexample.org:9092", "a.example.org:9093", ".example.org:9092"}},
		"addresses": {[]string{"10.1.2.3", "[fd00::1]:9092", "fd00::2"},
			[]string{"10.1.2.3:1", "[::ffff:10.1.2.3]:1", "[fd00::1]:9092", "[fd00::2]:5"},
			[]string{"10.1.2.4:1", "[fd00::1]:9093", "[64:ff9b::a01:203]:1"}},
		"a range": {[]string{"10.1.0.0/16", "::ffff:10.3.0.0/112"},
			[]string{"10.1.0.0:1", "10.1.255.255:1", "10.3.0.1:1", "a.name.that.may.have.such.an.address:1"},
			[]string{"10.2.0.0:1", "127.0.0.1:1", "10.1:1", "0x0a.1:1", "167837697:1", ":1"}},
		"a port alone lets no name in": {[]string{"10.1.2.3:1883"},
			[]string{"10.1.2.3:1883", "name.example.org:1883"}, []string{"name.example.org:1884"}},
	} {
		hosts, err := outbound.ParseHosts(c.list)
		require.NoError(t, err, name)
		for _, one := range c.allowed {
			require.NoError(t, check(t, hosts, one), "%s: %s", name, one)
		}
		for _, one := range c.refused {
			require.ErrorIs(t, check(t, hosts, one), outbound.ErrRefused, "%s: %s", name, one)
		}
		require.NoError(t, check(t, nil, "127.0.0.1:1"), "no list")
	}
}

func check(t *testing.T, hosts *outbound.Hosts, address string) error {
	t.Helper()
	host, text, err := net.SplitHostPort(address)
	require.NoError(t, err)
	port, err := net.LookupPort("tcp", text)
	require.NoError(t, err)
	return hosts.Check(host, port)
}

func TestHosts_Over_connectsOverTheNetwork(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)

	inside, err := outbound.ParseHosts([]string{"127.0.0.0/8"})
	require.NoError(t, err)
	outside, err := outbound.ParseHosts([]string{"10.0.0.0/8"})
	require.NoError(t, err)
	for _, host := range []string{"127.0.0.1", "localhost"} {
		address := net.JoinHostPort(host, port)
		for _, hosts := range []*outbound.Hosts{inside, nil} {
			conn, err := hosts.Over(nil)(t.Context(), "tcp4", address)
			require.NoError(t, err, address)
			require.NoError(t, conn.Close())
		}
		_, err = outside.Over(nil)(t.Context(), "tcp4", address)
		require.EqualError(t, err, "outbound: address refused: "+address+" is not on the list of hosts")
	}
}

func FuzzParseHosts(f *testing.F) {
	for _, entry := range []string{
		"mqtt.example.org:1883", "*.example.org", "10.1.0.0/16", "[::1]:1", "::ffff:10.0.0.0/104", "0x7f.1", "a:b:c",
	} {
		f.Add(entry, "10.0.0.1")
	}
	f.Fuzz(func(t *testing.T, entry, host string) {
		hosts, err := outbound.ParseHosts([]string{entry})
		if err != nil {
			return
		}
		address, err := netip.ParseAddr(host)
		if err != nil || hosts.Check(host, 1883) != nil {
			return
		}
		// An address is allowed by addresses alone, never by a name.
		text := entry
		if end, err := netip.ParseAddrPort(entry); err == nil {
			require.EqualValues(t, 1883, end.Port())
			text = end.Addr().String()
		}
		text = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
		if prefix, err := netip.ParsePrefix(text); err == nil {
			require.NotEqual(t, prefix.Addr().Unmap().Is4(), address.Unmap().Is6(), "%s allows %s", entry, host)
			return
		}
		listed, err := netip.ParseAddr(text)
		require.NoError(t, err, "%s allows %s", entry, host)
		require.Equal(t, listed.WithZone("").Unmap(), address.WithZone("").Unmap())
	})
}
