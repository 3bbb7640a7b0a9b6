//go:build linux

package kernel

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// narrowPath returns a path whose link carries packets of up to 1,330 bytes.
func narrowPath(t *testing.T) *path {
	t.Helper()
	p := newPair(time.Millisecond)
	p.narrow = 1330
	p.run(6 * time.Second)
	require.Equal(t, status.Up, p.here.state)
	return &path{watch: p.here}
}

func TestPort_fitting_isWhatEveryPathCarries(t *testing.T) {
	const limit = tunnelMTU - segmentOverhead
	narrow, wide := narrowPath(t), &path{watch: newWatch(settings.Probe{}, 0, tunnelMTU)}
	wide.watch.state = status.Up
	six := []netip.Prefix{netip.MustParsePrefix("10.9.0.1/24"), netip.MustParsePrefix("fd00::1/64")}
	one := func(paths map[string]*path) map[multilink.Key]*peer {
		return map[multilink.Key]*peer{{1}: {paths: paths}}
	}
	peers := one(map[string]*path{"wifi": narrow, "5g": wide})
	own := func() *port { return &port{limit: limit, mtu: limit, made: true} }
	require.InDelta(t, 1330-segmentOverhead-8, own().fitting(peers, six[:1]), 8)

	asked := own()
	asked.limit = 1200
	require.Equal(t, 1200, asked.fitting(peers, six[:1]))

	require.Equal(t, smallestIPv6, own().fitting(one(map[string]*path{"wifi": narrow}), six), "below it the address would be lost")
	asked.limit = 1210
	require.Equal(t, 1210, asked.fitting(peers, six), "what the administrator set")

	both := map[multilink.Key]*peer{{1}: {paths: map[string]*path{"wifi": wide}}, {2}: {paths: map[string]*path{"wifi": narrow}}}
	require.Equal(t, limit, own().fitting(both, six[:1]), "one peer does not narrow the network of the others below 1,280")

	others := own()
	others.made = false
	peers = one(map[string]*path{"wifi": narrow})
	require.Equal(t, smallestIPv6, others.fitting(peers, six[:1]), "a bridge that was there may have such addresses")

	narrow.watch.fail(time.Minute, "silent")
	require.Equal(t, limit, own().fitting(peers, six[:1]), "a link that is down counts for nothing")
}
