package ethernet_test

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/internal/ethernet"
)

// Two peers and this host: a frame to an address that is known goes there alone.
func ExampleNewSwitch() {
	table := ethernet.NewSwitch(nil)
	north, south := table.Add(), table.Add()
	frame := make([]byte, 60)
	copy(frame, "\x02\x00\x00\x00\x00\x05"+"\x02\x00\x00\x00\x00\x06")
	fmt.Println(table.Forward(nil, north, frame))
	answer := make([]byte, 60)
	copy(answer, "\x02\x00\x00\x00\x00\x06"+"\x02\x00\x00\x00\x00\x05")
	fmt.Println(table.Forward(nil, south, answer))
	// Output:
	// [0 2]
	// [1]
}

// etherFrame has no tag where vlan is 0.
func etherFrame(to, from uint32, vlan uint16) []byte {
	frame := make([]byte, 60)
	frame[0], frame[6] = 2, 2
	binary.BigEndian.PutUint32(frame[2:], to)
	binary.BigEndian.PutUint32(frame[8:], from)
	if vlan != 0 {
		binary.BigEndian.PutUint16(frame[12:], 0x8100)
		binary.BigEndian.PutUint16(frame[14:], 0xe000|vlan)
	}
	return frame
}

type ports = []ethernet.Port

const local = ethernet.LocalPort

func TestSwitch_Forward_learnsDestinations(t *testing.T) {
	s := ethernet.NewSwitch(nil)
	a, b, c := s.Add(), s.Add(), s.Add()
	require.Equal(t, ports{local, b, c}, s.Forward(nil, a, etherFrame(2, 1, 0)), "unknown: to all but where it came from")
	require.Equal(t, ports{a}, s.Forward(nil, b, etherFrame(1, 2, 0)))
	require.Equal(t, ports{b}, s.Forward(nil, local, etherFrame(2, 3, 0)))
	require.Empty(t, s.Forward(nil, a, etherFrame(1, 9, 0)), "never back")
	require.Equal(t, ports{local, a, c}, s.Forward(nil, b, etherFrame(1, 2, 5)), "another VLAN is another place")

	broadcast := etherFrame(0, 1, 0)
	copy(broadcast, "\xff\xff\xff\xff\xff\xff")
	require.Equal(t, ports{local, b, c}, s.Forward(nil, a, broadcast))
	require.Equal(t, 5, s.Stats().Addresses)
}

func TestSwitch_Forward_filtersFrames(t *testing.T) {
	s := ethernet.NewSwitch(nil)
	a := s.Add()
	frame := etherFrame(2, 1, 0)
	for n := range 14 {
		require.Empty(t, s.Forward(nil, a, frame[:n]))
	}
	require.Empty(t, s.Forward(nil, a+1, frame), "no such port")
	group := etherFrame(2, 1, 0)
	group[6] |= 1
	require.Empty(t, s.Forward(nil, a, group), "from a group")
	pause := etherFrame(2, 1, 0)
	copy(pause, "\x01\x80\xc2\x00\x00\x01")
	require.Empty(t, s.Forward(nil, a, pause), "for neighbours only")
	require.Zero(t, s.Stats().Addresses)
}

func TestSwitch_Forward_isolatesPeers(t *testing.T) {
	s := ethernet.NewSwitch(&ethernet.SwitchOptions{Isolate: true})
	a, b := s.Add(), s.Add()
	require.Equal(t, ports{local}, s.Forward(nil, a, etherFrame(2, 1, 0)))
	require.Equal(t, ports{local}, s.Forward(nil, b, etherFrame(9, 2, 0)))
	require.Empty(t, s.Forward(nil, a, etherFrame(2, 1, 0)), "known, but not for it")
	require.Equal(t, ports{a, b}, s.Forward(nil, local, etherFrame(9, 3, 0)))
}

func TestSwitch_Learn_protectsAddressesOfTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := ethernet.NewSwitch(nil)
		a, b := s.Add(), s.Add()
		s.Forward(nil, local, etherFrame(9, 1, 0))
		require.False(t, s.Learn(a, etherFrame(9, 1, 0)))
		require.Empty(t, s.Forward(nil, a, etherFrame(9, 1, 0)))
		require.EqualValues(t, 2, s.Stats().Refused)
		require.Equal(t, ports{local}, s.Forward(nil, b, etherFrame(1, 2, 0)))

		s.Forward(nil, local, etherFrame(9, 2, 0))
		require.Equal(t, ports{local}, s.Forward(nil, a, etherFrame(2, 3, 0)), "the host takes one at once")

		time.Sleep(301 * time.Second)
		require.True(t, s.Learn(a, etherFrame(9, 1, 0)), "forgotten by then")
	})
}

func TestSwitch_Learn_movesAnAddressAfterSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var claims []ethernet.Claim
		s := ethernet.NewSwitch(&ethernet.SwitchOptions{Claimed: func(c ethernet.Claim) { claims = append(claims, c) }})
		a, b := s.Add(), s.Add()
		require.True(t, s.Learn(a, etherFrame(9, 1, 0)))
		for range 3 { // an owner that sends keeps its address
			time.Sleep(900 * time.Millisecond)
			require.False(t, s.Learn(b, etherFrame(9, 1, 0)), "the first still uses it")
			require.Equal(t, ports{a}, s.Forward(nil, local, etherFrame(1, 5, 0)))
			require.True(t, s.Learn(a, etherFrame(9, 1, 0)))
		}
		require.EqualValues(t, 3, s.Refused(b))
		require.Zero(t, s.Refused(a))
		require.Equal(t, []ethernet.Claim{{Address: [6]byte{2, 0, 0, 0, 0, 1}, From: b, Owner: a}}, claims, "one of three at once")

		time.Sleep(time.Second)
		require.True(t, s.Learn(b, etherFrame(9, 1, 0)), "it roamed")
		require.Equal(t, ports{b}, s.Forward(nil, local, etherFrame(1, 5, 0)))
		require.Len(t, claims, 2)
		require.Equal(t, ethernet.Claim{Address: [6]byte{2, 0, 0, 0, 0, 1}, From: b, Owner: a, Moved: true}, claims[1])
		require.False(t, s.Learn(a, etherFrame(9, 1, 0)))
		time.Sleep(time.Second)
		require.True(t, s.Learn(a, etherFrame(9, 1, 0)))
	})
}

func TestSwitch_Learn_neverMovesAnAddressOfIsolatedPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var claims []ethernet.Claim
		s := ethernet.NewSwitch(&ethernet.SwitchOptions{Isolate: true, Claimed: func(c ethernet.Claim) { claims = append(claims, c) }})
		a, b := s.Add(), s.Add()
		require.True(t, s.Learn(a, etherFrame(9, 1, 7)))
		time.Sleep(time.Hour)
		require.Equal(t, []ethernet.Port{local}, s.Forward(nil, b, etherFrame(9, 2, 0))) // looks for what is to be forgotten
		require.Empty(t, s.Forward(nil, b, etherFrame(9, 1, 7)))
		require.Equal(t, ports{a}, s.Forward(nil, local, etherFrame(1, 5, 7)), "not to the others, as an unknown one")
		require.Equal(t, []ethernet.Claim{{Address: [6]byte{2, 0, 0, 0, 0, 1}, VLAN: 7, From: b, Owner: a}}, claims)
		require.True(t, s.Learn(a, etherFrame(9, 1, 7)))

		s.Remove(a)
		require.True(t, s.Learn(b, etherFrame(9, 1, 7)), "free with its port")
	})
}

func TestSwitch_Learn_forgetsSilentAddressesOfAnIsolatedPeerForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := ethernet.NewSwitch(&ethernet.SwitchOptions{Isolate: true})
		a, b := s.Add(), s.Add()
		for i := range uint32(1024) {
			require.True(t, s.Learn(a, etherFrame(9, 1000+i, 0)))
		}
		require.True(t, s.Learn(b, etherFrame(9, 1, 0)))
		time.Sleep(301 * time.Second)
		for i := range uint32(1000) {
			require.True(t, s.Learn(a, etherFrame(9, 5000+i, 0)))
		}
		require.Equal(t, 1000+1, s.Stats().Addresses, "the new ones, and that of the other peer")
		require.Equal(t, ports{a}, s.Forward(nil, local, etherFrame(5999, 5, 0)))
	})
}

func TestSwitch_ageing_removesAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := ethernet.NewSwitch(nil)
		a, b := s.Add(), s.Add()
		s.Learn(a, etherFrame(9, 1, 0))
		s.Learn(a, etherFrame(9, 2, 0))
		time.Sleep(200 * time.Second)
		s.Learn(a, etherFrame(9, 2, 0))
		time.Sleep(101 * time.Second)
		require.Equal(t, ports{a, b}, s.Forward(nil, local, etherFrame(1, 5, 0)))
		require.Equal(t, ports{a}, s.Forward(nil, local, etherFrame(2, 5, 0)))
		require.Equal(t, 2, s.Stats().Addresses)
	})
}

func TestSwitch_Learn_boundsTheAddressesOfAPeer(t *testing.T) {
	s := ethernet.NewSwitch(nil)
	a, b := s.Add(), s.Add()
	s.Learn(b, etherFrame(9, 1, 0))
	for i := range uint32(50_000) {
		require.True(t, s.Learn(a, etherFrame(9, 1000+i, 0)), "served all the same")
	}
	require.Equal(t, 1024+1, s.Stats().Addresses)
	require.Equal(t, ports{b}, s.Forward(nil, local, etherFrame(1, 5, 0)))
	require.True(t, s.Learn(b, etherFrame(9, 2, 0)))
	require.Equal(t, ports{b}, s.Forward(nil, local, etherFrame(2, 5, 0)))

	s.Remove(a)
	require.Equal(t, 1+1+1, s.Stats().Addresses)
	require.Empty(t, s.Forward(nil, a, etherFrame(1, 7, 0)))
	require.Equal(t, ports{b}, s.Forward(nil, local, etherFrame(1001, 5, 0)), "forgotten with its port")
	s.Remove(local)
	require.Equal(t, ports{local}, s.Forward(nil, b, etherFrame(5, 1, 0)), "the local port stays")
	require.NotEqual(t, a, s.Add(), "numbers are not used again")
}

func TestSwitch_isSafeForConcurrentUse(t *testing.T) {
	s := ethernet.NewSwitch(nil)
	var all sync.WaitGroup
	for worker := range uint32(4) {
		all.Go(func() {
			port := s.Add()
			for i := range uint32(3000) {
				if i%500 == 499 {
					s.Remove(port)
					if s.Forward(nil, port, etherFrame(0, i, 0)) != nil {
						t.Error("a frame passes from a port that was removed")
					}
					port = s.Add()
				}
				for _, to := range s.Forward(nil, port, etherFrame(i%100, i%200+worker, 0)) {
					if to == port {
						t.Error("a frame goes back")
					}
				}
			}
			s.Remove(port)
		})
	}
	all.Wait()
	require.Zero(t, s.Stats().Addresses)
}

// FuzzSwitch checks that no frame of any sender goes back, or to a port twice, and
// that the host keeps its address.
func FuzzSwitch(f *testing.F) {
	f.Add(etherFrame(1, 2, 0), etherFrame(2, 1, 5))
	f.Add(etherFrame(7, 7, 4095), []byte("\x01\x80\xc2\x00\x00\x0e"))
	f.Add(etherFrame(8, 77, 0), etherFrame(8, 78, 0))
	f.Fuzz(func(t *testing.T, one, other []byte) {
		s := ethernet.NewSwitch(nil)
		host := etherFrame(9, 8, 0)
		s.Forward(nil, local, host)
		all := ports{local, s.Add(), s.Add(), s.Add()}
		for i, frame := range [][]byte{one, other, one, other} {
			from := all[i%3+1]
			seen := map[ethernet.Port]bool{from: true}
			for _, to := range s.Forward(nil, from, frame) {
				if seen[to] || to < local || to > all[3] {
					t.Fatalf("a frame from %d goes to %d", from, to)
				}
				seen[to] = true
			}
		}
		// The two frames may hold two of these addresses at other ports; the third
		// is free to ask.
		var answers []ports
		for _, address := range []uint32{77, 78, 79} {
			if to := s.Forward(nil, all[1], etherFrame(8, address, 0)); to != nil {
				require.Equal(t, ports{local}, to)
				answers = append(answers, to)
			}
		}
		require.NotEmpty(t, answers)
	})
}

func BenchmarkSwitch(b *testing.B) {
	s := ethernet.NewSwitch(nil)
	from, to := s.Add(), s.Add()
	for i := range uint32(500) {
		s.Learn(to, etherFrame(9, 1000+i, 0))
	}
	frame := etherFrame(1234, 1, 0)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		var out ports
		for pb.Next() {
			out = s.Forward(out[:0], from, frame)
		}
	})
}
