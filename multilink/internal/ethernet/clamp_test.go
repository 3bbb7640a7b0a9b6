package ethernet_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/internal/ethernet"
)

// mss returns a SYN that offers so much, with the option at one of three places.
func mss(s packetSpec, offer uint16, place int) packetSpec {
	s.protocol, s.tcpFlags = 6, 0x02
	option := []byte{2, 4, byte(offer >> 8), byte(offer)}
	switch place {
	case 0:
		s.tcpOptions = append(option, 1, 3, 3, 7)
	case 1:
		s.tcpOptions = append(append([]byte{1}, option...), 3, 3, 7)
	default:
		s.tcpOptions = append(append([]byte{3, 3, 7, 1, 4, 2}, option...), 0, 0)
	}
	return s
}

// whole reports whether the checksum of a segment of TCP is right.
func whole(s packetSpec, segment []byte) bool {
	return sum16(s.pseudo(len(segment)), segment) == 0xffff
}

func ExampleClampMSS() {
	frame := mss(voiceV4, 1460, 0).frame()
	fmt.Println(ethernet.ClampMSS(frame, 1400))
	option := frame[14+20+20:]
	fmt.Println(binary.BigEndian.Uint16(option[2:]))
	// Output:
	// true
	// 1346
}

func TestClampMSS_lowersTheOffer(t *testing.T) {
	for _, base := range []packetSpec{voiceV4, voiceV6} {
		for _, tags := range [][]uint32{nil, {0x81000064}, {0x88a80064, 0x81000065}} {
			for place := range 3 {
				for _, flags := range []byte{0x02, 0x12, 0xc2} {
					s := mss(base, 8960, place)
					s.tags = tags
					s.tcpFlags = flags
					s.payload = 3
					s.padding = 5
					frame := s.frame()
					before := slices.Clone(frame)
					require.True(t, ethernet.ClampMSS(frame, 1399))

					header, version := 20, 4
					if !s.from.Is4() {
						header, version = 40, 6
					}
					want := mss(base, uint16(1399-14-4*len(tags)-header-20), place)
					want.tags = tags
					want.tcpFlags = flags
					want.payload = 3
					want.padding = 5
					require.Equal(t, want.frame(), frame, "IPv%d, %d tags, place %d", version, len(tags), place)
					require.True(t, whole(s, frame[14+4*len(tags)+header:len(frame)-5]))
					require.False(t, ethernet.ClampMSS(frame, 1399), "low enough now")
					require.NotEqual(t, before, frame)
				}
			}
		}
	}
}

func TestClampMSS_leavesOtherFramesAlone(t *testing.T) {
	syn := mss(voiceV4, 1460, 1)
	for name, frame := range map[string][]byte{
		"not the first segment": with(syn, func(s *packetSpec) { s.tcpFlags = 0x10 }).frame(),
		"low enough":            mss(voiceV4, 1346, 0).frame(),
		"a fragment":            with(syn, func(s *packetSpec) { s.fragment = 0x2000 }).frame(),
		"a later fragment":      with(syn, func(s *packetSpec) { s.fragment = 3 }).frame(),
		"UDP":                   voiceV4.frame(),
		"without options":       with(syn, func(s *packetSpec) { s.tcpOptions = nil }).frame(),
		"behind the end":        with(syn, func(s *packetSpec) { s.tcpOptions = []byte{0, 2, 4, 5, 0xb4, 0, 0, 0} }).frame(),
		"a strange length":      with(syn, func(s *packetSpec) { s.tcpOptions = []byte{2, 3, 0xff, 0} }).frame(),
		"an option of nothing":  with(syn, func(s *packetSpec) { s.tcpOptions = []byte{8, 0, 2, 4, 5, 0xb4, 0, 0} }).frame(),
		"a long option":         with(syn, func(s *packetSpec) { s.tcpOptions = []byte{1, 1, 1, 2} }).frame(),
	} {
		before := slices.Clone(frame)
		require.False(t, ethernet.ClampMSS(frame, 1400), name)
		require.Equal(t, before, frame, name)
	}
	frame := syn.frame()
	for n := range frame {
		cut := slices.Clone(frame[:n])
		require.False(t, ethernet.ClampMSS(cut, 1400), "cut off at %d", n)
		require.Equal(t, frame[:n], cut)
	}
}

func TestClampMSS_keepsTheLeastMSS(t *testing.T) {
	frame := mss(voiceV4, 1460, 0).frame()
	require.True(t, ethernet.ClampMSS(frame, 100))
	require.EqualValues(t, 536, binary.BigEndian.Uint16(frame[14+20+20+2:]))
}

// FuzzClampMSS changes nothing but the option and the checksum, which stays as
// right or wrong as it was.
func FuzzClampMSS(f *testing.F) {
	for _, base := range []packetSpec{voiceV4, voiceV6} {
		for place := range 3 {
			s := mss(base, 1460, place)
			f.Add(s.frame(), 1400)
			s.tags = []uint32{0x81000001}
			f.Add(s.frame(), 600)
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte, size int) {
		before := slices.Clone(frame)
		if !ethernet.ClampMSS(frame, size) {
			if !bytes.Equal(before, frame) {
				t.Fatalf("%x became %x, unannounced", before, frame)
			}
			return
		}
		parts := takeApart(before)
		if parts.protocol != 6 || parts.fragmented || parts.ports == nil {
			t.Fatalf("%x is no segment of TCP", before)
		}
		at := 14 + 4*len(parts.tags)
		if parts.addresses[0].Is4() {
			at += int(before[at]%16) * 4
		} else {
			at += 40
			for next, i := before[at-34], 0; next != 6; i++ {
				length := 8 * (1 + int(before[at+1]))
				switch next {
				case 44:
					length = 8
				case 51:
					length = 4 * (2 + int(before[at+1]))
				}
				next, at = before[at], at+length
			}
		}
		for i := range frame {
			sum := i == at+16 || i == at+17
			if !sum && frame[i] != before[i] && (i < at+20 || i >= at+60) {
				t.Fatalf("byte %d changed, that is neither in the options nor the checksum", i)
			}
		}
		// All that the checksum covers, itself included, sums up to the same.
		if at%2 != 0 {
			frame, before = frame[1:], before[1:]
		}
		if was, is := sum16(before), sum16(frame); was%0xffff != is%0xffff {
			t.Fatalf("the sum was %#x and is %#x", was, is)
		}
	})
}

func BenchmarkClampMSS(b *testing.B) {
	for name, s := range map[string]packetSpec{"syn": mss(voiceV4, 1300, 2), "data": {
		from: four[0], to: four[1], protocol: 6, tcpFlags: 0x10, payload: 1400,
	}} {
		b.Run(name, func(b *testing.B) {
			frame := s.frame()
			b.ReportAllocs()
			for b.Loop() {
				ethernet.ClampMSS(frame, 1400)
			}
		})
	}
}
