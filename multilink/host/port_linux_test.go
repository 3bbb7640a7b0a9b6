package host_test

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/host"
)

func addresses(all ...string) []netip.Prefix {
	var prefixes []netip.Prefix
	for _, a := range all {
		prefixes = append(prefixes, netip.MustParsePrefix(a))
	}
	return prefixes
}

// arp requests the owner of an address (RFC 826).
func arp(target netip.Addr) []byte {
	frame := []byte{255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 1, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1,
		10, 9, 0, 77, 0, 0, 0, 0, 0, 0}
	return append(frame, target.AsSlice()...)
}

// awaitType reads from a port until a frame of that EtherType comes.
func awaitType(t *testing.T, port multilink.FramePort, etherType uint16) []byte {
	t.Helper()
	var batch multilink.Batch
	for {
		batch.Reset()
		require.NoError(t, port.Read(&batch))
		require.NotEmpty(t, batch.Frames())
		for _, frame := range batch.Frames() {
			if binary.BigEndian.Uint16(frame[12:]) == etherType {
				return append([]byte(nil), frame...)
			}
		}
	}
}

func TestPort_carriesFramesBothWays(t *testing.T) {
	for name, off := range map[string]bool{"offload": false, "no offload": true} {
		t.Run(name, func(t *testing.T) {
			h := newNetwork(t).host(host.Options{NoOffload: off})
			port, err := h.Port(t.Context(), multilink.PortConfig{Name: "ml0",
				Addresses: addresses("10.9.0.1/24", "fd00::1/64"), MTU: 1400})
			require.NoError(t, err)
			require.Equal(t, 1400, port.MTU())
			require.Equal(t, !off, port.(*host.Port).Offload())

			require.NoError(t, port.Write([][]byte{arp(netip.MustParseAddr("10.9.0.1"))}))
			reply := awaitType(t, port, 0x0806)
			require.Equal(t, []byte{10, 9, 0, 1}, reply[28:32], "the kernel answers for its address")
			require.Zero(t, port.(*host.Port).Dropped())
		})
	}
}

func TestPort_Close_endsARead(t *testing.T) {
	h := newNetwork(t).host(host.Options{})
	port, err := h.Port(t.Context(), multilink.PortConfig{Name: "ml0"})
	require.NoError(t, err)
	ended := make(chan error)
	go func() {
		var batch multilink.Batch
		for {
			batch.Reset()
			if err := port.Read(&batch); err != nil {
				ended <- err
				return
			}
		}
	}()
	require.NoError(t, port.Close())
	require.ErrorIs(t, <-ended, multilink.ErrClosed)
	require.ErrorIs(t, port.Write([][]byte{arp(netip.MustParseAddr("10.9.0.1"))}), multilink.ErrClosed)
	require.NoError(t, port.Close())
}

func TestPort_Read_failsWhenTheDeviceIsRemoved(t *testing.T) {
	n := newNetwork(t)
	port, err := n.host(host.Options{}).Port(t.Context(), multilink.PortConfig{Name: "ml0"})
	require.NoError(t, err)
	n.run("ip link del ml0")
	var batch multilink.Batch
	for err == nil {
		batch.Reset()
		err = port.Read(&batch)
	}
	require.ErrorIs(t, err, multilink.ErrClosed)
	require.ErrorContains(t, err, `"ml0": the device was removed`)
}

func TestHost_Port_refusesATakenName(t *testing.T) {
	n := newNetwork(t)
	h := n.host(host.Options{})
	n.run("ip link add veth0 type veth peer name veth1", "ip tuntap add dev tap7 mode tap")
	_, err := h.Port(t.Context(), multilink.PortConfig{Name: "ml0"})
	require.NoError(t, err)
	for _, name := range []string{"ml0", "veth0", "tap7"} {
		_, err = h.Port(t.Context(), multilink.PortConfig{Name: name})
		require.ErrorIs(t, err, multilink.ErrDuplicate, name)
	}
}
