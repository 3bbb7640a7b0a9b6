package ethernet_test

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/internal/ethernet"
)

// arp returns an answer that says where an address of IPv4 is.
func arp(from uint32, vlan uint16, sender netip.Addr) []byte {
	frame := etherFrame(9, from, vlan)
	at := 12
	if vlan != 0 {
		at += 4
	}
	binary.BigEndian.PutUint16(frame[at:], 0x0806)
	copy(frame[at+2:], "\x00\x01\x08\x00\x06\x04\x00\x02")
	copy(frame[at+2+8:], frame[6:12])
	copy(frame[at+2+14:], sender.AsSlice())
	return frame
}

// advertisement returns where an address of IPv6 is.
func advertisement(from, target netip.Addr, extensions ...byte) []byte {
	frame := packetSpec{from: from, to: six[1], protocol: 58, payload: 16, extensions: extensions}.frame()
	at := len(frame) - 24
	frame[at] = 136
	copy(frame[at+8:], target.AsSlice())
	return frame
}

func TestSwitch_Learn_keepsAssignedAddressesOfIsolatedPeers(t *testing.T) {
	var claims []ethernet.Claim
	s := ethernet.NewSwitch(&ethernet.SwitchOptions{Isolate: true, Claimed: func(c ethernet.Claim) { claims = append(claims, c) }})
	a, b := s.Add(), s.Add()
	other := netip.MustParseAddr("2001:db8::77")
	s.Assign(map[netip.Addr]ethernet.Port{four[0]: a, four[1]: local, six[0]: a})
	for name, frame := range map[string][]byte{
		"ARP": arp(2, 0, four[0]), "ARP in a VLAN": arp(2, 5, four[0]), "ARP for the host": arp(2, 0, four[1]),
		"target":   advertisement(other, six[0]),
		"source":   advertisement(six[0], other),
		"extended": advertisement(other, six[0], 0, 60),
	} {
		require.Empty(t, s.Forward(nil, b, frame), name)
	}
	require.EqualValues(t, 6, s.Refused(b))
	require.Len(t, claims, 1, "within ten seconds")
	require.True(t, claims[0].IP.IsValid())
	require.Equal(t, ports{local}, s.Forward(nil, a, arp(1, 0, four[0])), "its own")
	require.Equal(t, ports{local}, s.Forward(nil, a, advertisement(six[0], six[0])))
	require.Equal(t, ports{local}, s.Forward(nil, b, arp(2, 0, netip.MustParseAddr("10.1.2.99"))), "assigned to no port")
	echo := packetSpec{from: six[0], to: six[1], protocol: 58, payload: 16}.frame()
	echo[11] = 3
	require.Equal(t, ports{local}, s.Forward(nil, b, echo), "no Neighbor Discovery")
	require.NotEmpty(t, s.Forward(nil, local, arp(3, 0, four[0])), "the host decides for itself")
	for n := range arp(2, 0, four[0]) {
		s.Forward(nil, b, arp(2, 0, four[0])[:n])
		s.Forward(nil, b, advertisement(other, six[0])[:n])
	}

	open := ethernet.NewSwitch(nil)
	a, b = open.Add(), open.Add()
	open.Assign(map[netip.Addr]ethernet.Port{four[0]: a})
	require.NotEmpty(t, open.Forward(nil, b, arp(2, 0, four[0])), "they share a network")
}
