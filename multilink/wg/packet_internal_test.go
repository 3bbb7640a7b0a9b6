package wg

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
)

func TestReveal_restoresTheHiddenHeader(t *testing.T) {
	packet := []byte{9, 1, 2, 3, 4, 5, 6, 7, 8, 'x', 'y'}
	source, target := address{10, 0, 0, 1}, address{10, 0, 0, 2}
	buf := make([]byte, 64)
	n := hide(buf, packet, source, target)
	require.Equal(t, len(packet)+11, n)
	got, from, ok := reveal(buf[:n])
	require.True(t, ok)
	require.Equal(t, packet, got)
	require.Equal(t, source, from)
}

func TestInnerAddress_agreesBetweenTheEnds(t *testing.T) {
	a, b := multilink.Key{1}, multilink.Key{2}
	require.Equal(t, innerAddress(a, b), innerAddress(a, b))
	require.NotEqual(t, innerAddress(a, b), innerAddress(b, a))
}

func TestTunnelMTU_fitsTheLink(t *testing.T) {
	v4, v6 := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	require.Equal(t, 1429, tunnelMTU(1500, v4))
	require.Equal(t, 1429, tunnelMTU(1500, netip.MustParseAddr("::ffff:192.0.2.1")))
	require.Equal(t, 1397, tunnelMTU(1500, v6))
	require.Equal(t, 1397, tunnelMTU(1500, netip.Addr{}))
	for link := minMTU; link <= 2000; link++ {
		for to, ip := range map[netip.Addr]int{v4: 20, v6: 40} {
			// What WireGuard pads to, with the device's MTU that we give it.
			inner := tunnelMTU(link, to) + overhead
			padded := min((inner+15)&^15, link-60)
			require.LessOrEqual(t, ip+8+32+padded, link)
		}
	}
}

// Whatever a peer puts into a message, nothing is read beyond it, and what is
// taken as a packet is what hiding it again gives.
func FuzzReveal(f *testing.F) {
	packet := []byte("123456789payload")
	buf := make([]byte, 64)
	f.Add(buf[:hide(buf, packet, address{1, 2, 3, 4}, address{5, 6, 7, 8})])
	f.Add([]byte{})
	f.Add([]byte{0x45, 0, 0, 19})
	f.Add(append([]byte{0x45, 0, 0xff, 0xff}, make([]byte, 30)...))
	f.Fuzz(func(t *testing.T, inner []byte) {
		before := bytes.Clone(inner)
		packet, source, ok := reveal(inner[:len(inner):len(inner)])
		if !ok {
			require.Equal(t, before, inner)
			return
		}
		require.GreaterOrEqual(t, len(packet), multilink.HeaderSize)
		again := make([]byte, len(packet)+overhead)
		n := hide(again, packet, source, address(before[offsetTarget:innerHeader]))
		require.Equal(t, before[:n], again[:n])
	})
}

func FuzzReadFigures(f *testing.F) {
	f.Add([]byte("private_key=00\nlisten_port=1\n" +
		"public_key=0101010101010101010101010101010101010101010101010101010101010101\nendpoint=192.0.2.1:7\n" +
		"last_handshake_time_sec=5\nlast_handshake_time_nsec=6\ntx_bytes=7\nrx_bytes=8\n"))
	f.Add([]byte("public_key=xyz\nrx_bytes=-1\n"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		all, _ := readFigures(bytes.NewReader(answer))
		require.LessOrEqual(t, len(all), bytes.Count(answer, []byte("public_key=")))
	})
}

func TestReadFigures_readsHandshakeAndBytes(t *testing.T) {
	all, err := readFigures(bytes.NewReader([]byte("listen_port=1\n" +
		"public_key=0101010101010101010101010101010101010101010101010101010101010101\n" +
		"endpoint=[2001:db8::1]:7\nlast_handshake_time_sec=5\nlast_handshake_time_nsec=6\ntx_bytes=7\nrx_bytes=8\n")))
	require.NoError(t, err)
	var key multilink.Key
	for i := range key {
		key[i] = 1
	}
	require.Equal(t, map[multilink.Key]figures{key: {
		handshake: 5e9 + 6, endpoint: netip.MustParseAddrPort("[2001:db8::1]:7"), sent: 7, received: 8,
	}}, all)
}
