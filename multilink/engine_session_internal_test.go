package multilink

import (
	"crypto/ecdh"
	"crypto/rand"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Goroutines of several links deliver what one peer sent. What the bond took
// first has to get out first, and nobody keeps packets from the bond meanwhile.
func TestFramesOfAllLinksAreDeliveredInTheOrderInWhichTheyWereTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := NewMemoryNetwork(1, "wifi0", "mesh0")
		defer network.Close()
		host, err := network.Host(netip.MustParseAddr("10.0.0.1"))
		require.NoError(t, err)
		e, err := NewEngine(EngineConfig{Host: host})
		require.NoError(t, err)
		defer e.Close()
		private, err := ecdh.X25519().GenerateKey(rand.Reader)
		require.NoError(t, err)
		links := []LinkConfig{{Name: "wifi0", Kind: WiFi}, {Name: "mesh0", Kind: Mesh, Priority: 1}}
		require.NoError(t, e.Apply(t.Context(), State{
			PrivateKey: Key(private.Bytes()), Links: links,
			Peers: []PeerConfig{{Name: "a", PublicKey: Key{1}, Links: []PeerLink{{Link: "wifi0"}, {Link: "mesh0"}}}},
		}))
		s := e.peers[Key{1}]
		release := make(chan struct{})
		var got []byte
		s.deliver = func(_ SwitchPort, frames [][]byte) {
			if frames[0][0] == 1 {
				<-release
			}
			got = append(got, frames[0][0])
		}

		// A peer whose packets arrive over both links.
		peer, err := NewBond(BondConfig{Policy: Redundant}, links, 7, time.Now())
		require.NoError(t, err)
		var out Output
		exchange := func() [][][]byte {
			sent := make([][][]byte, len(links))
			for _, p := range out.Packets {
				sent[p.Link] = append(sent[p.Link], p.Data())
			}
			out.Reset()
			return sent
		}
		for range 3 { // of greetings
			time.Sleep(2 * time.Second)
			peer.Tick(time.Now(), &out)
			for link, packets := range exchange() {
				s.receive(LinkID(link), packets, nil)
			}
			s.step(func(now time.Time) {
				for id := range links {
					s.bond.links[id].due = 0
				}
				s.bond.probes(&s.out)
				for _, p := range s.out.Packets {
					peer.Receive(now, p.Link, p.Data(), &out)
				}
			})
		}
		peer.Send(time.Now(), []byte{1, 1}, -1, 0, &out)
		peer.Send(time.Now(), []byte{2, 2}, -1, 0, &out)
		packets := exchange()
		var first, second []byte
		for _, p := range packets[0] {
			switch h, _ := parseHeader(p); {
			case h.kind == typeData && p[HeaderSize] == 1:
				first = p
			case h.kind == typeData && p[HeaderSize] == 2:
				second = p
			}
		}
		require.NotNil(t, first)
		require.NotNil(t, second)
		go s.receive(0, [][]byte{first}, nil)
		synctest.Wait()
		go s.receive(1, [][]byte{second}, nil)
		synctest.Wait()
		require.Empty(t, got)
		require.EqualValues(t, 2, e.Status().Peers[0].Counters.RxFrames, "the bond has both, though neither is out")
		close(release)
		synctest.Wait()
		require.Equal(t, []byte{1, 2}, got)
	})
}
