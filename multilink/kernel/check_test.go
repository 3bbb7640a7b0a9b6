//go:build linux

package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/settings"
)

// good returns a state that nothing is wrong with.
func good() multilink.State {
	return multilink.State{
		Port: multilink.PortConfig{Name: "bonded"},
		Links: []settings.Link{
			{Name: "wifi", Kind: settings.WiFi, Priority: 1},
			{Name: "mesh", Kind: settings.Mesh, Priority: 2},
		},
		Peers:      []multilink.PeerConfig{{Name: "gw-1", PublicKey: multilink.Key{1}, Links: []multilink.PeerLink{{Link: "wifi"}}}},
		Bond:       settings.Bond{NoReplay: true},
		PrivateKey: multilink.Key{2},
	}
}

func TestCheck_namesWhatTheKernelCannotHold(t *testing.T) {
	require.NoError(t, check(good()))
	for want, change := range map[string]func(*multilink.State){
		"bond: policy":             func(s *multilink.State) { s.Bond.Policy = settings.Redundant },
		"bond: replay":             func(s *multilink.State) { s.Bond.NoReplay = false },
		`class "video"`:            func(s *multilink.State) { s.Classes = []settings.Class{{Name: "video"}} },
		`link "wifi": quota`:       func(s *multilink.State) { s.Links[0].Quota = 1 },
		`link "wifi": rate`:        func(s *multilink.State) { s.Links[0].Rate = 1 },
		`link "wifi": max_loss`:    func(s *multilink.State) { s.Links[0].MaxLoss = 0.1 },
		`link "mesh": max_rtt`:     func(s *multilink.State) { s.Links[1].MaxRTT = 1 },
		`link "wifi": name`:        func(s *multilink.State) { s.Links[1].Name = "wifi" },
		`link "mesh": priority`:    func(s *multilink.State) { s.Links[1].Priority = 1 },
		`link "mesh": kind`:        func(s *multilink.State) { s.Links[1].Kind = "lora" },
		`peer "gw-1": link "lte"`:  func(s *multilink.State) { s.Peers[0].Links[0].Link = "lte" },
		`peer "gw-1": link "wifi"`: func(s *multilink.State) { s.Peers[0].Links = append(s.Peers[0].Links, s.Peers[0].Links[0]) },
		`peer "gw-1": public key`:  func(s *multilink.State) { s.Peers[0].PublicKey = multilink.Key{} },
		`peer "gw-2": public key`: func(s *multilink.State) {
			s.Peers = append(s.Peers, multilink.PeerConfig{Name: "gw-2", PublicKey: multilink.Key{1}})
		},
		`peer "gw-1": name`: func(s *multilink.State) {
			s.Peers = append(s.Peers, multilink.PeerConfig{Name: "gw-1", PublicKey: multilink.Key{3}})
		},
		"private key":                      func(s *multilink.State) { s.PrivateKey = multilink.Key{} },
		`port ""`:                          func(s *multilink.State) { s.Port.Name = "" },
		`port "a-name-of-16-ch": mtu`:      func(s *multilink.State) { s.Port.Name = "a-name-of-16-ch"; s.Port.MTU = 1500 },
		`port "bonded": bridge`:            func(s *multilink.State) { s.Port.Bridge = "a bridge" },
		"bond: wait_to_restore: must be 0": func(s *multilink.State) { s.Bond.WaitToRestore = -1 },
	} {
		state := good()
		change(&state)
		err := check(state)
		if err == nil {
			_, err = portMTU(state.Port, 1350)
		}
		require.ErrorContains(t, err, want)
	}
}

func TestCheck_refusesOptionsOfBondAsUnsupported(t *testing.T) {
	replay, redundant, limited := good(), good(), good()
	replay.Bond.NoReplay = false
	redundant.Bond.Policy = settings.Adaptive
	limited.Links[0].Rate = 1
	for _, state := range []multilink.State{replay, redundant, limited} {
		require.ErrorIs(t, check(state), multilink.ErrUnsupported)
	}
	_, err := portMTU(multilink.PortConfig{Name: "bonded", MTU: 1500}, 1350)
	require.ErrorIs(t, err, multilink.ErrUnsupported)
}

func TestPath_derivesTheSameAddressesAtBothEnds(t *testing.T) {
	a, b := multilink.Key{1}, multilink.Key{2}
	require.Equal(t, segment("wifi", a, b), segment("wifi", b, a))
	require.NotEqual(t, segment("wifi", a, b), segment("mesh", a, b))
	require.Less(t, segment("wifi", a, b), 1<<24)
	require.NotEqual(t, inner("wifi", a), inner("mesh", a))
	require.True(t, inner("wifi", a).IsPrivate())
}
