//go:build linux

package vm_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/test/multilink/vm/vmtest"
)

// planeProcess is a process of the guest that runs a plane of the kernel.
type planeProcess struct {
	process *vmtest.Process
	answers *bufio.Reader
}

// planeAnswer is what it answers to an order.
type planeAnswer struct {
	Error  string           `json:"error"`
	Status multilink.Status `json:"status"`
}

func startPlane(t *testing.T, in *vmtest.Namespace) *planeProcess {
	t.Helper()
	reader, writer := io.Pipe()
	process := in.Start(t, vmtest.Program{Argv: []string{"/bin/plane"}, Stdout: writer})
	go func() {
		<-process.Ended()
		_ = writer.Close()
	}()
	return &planeProcess{process: process, answers: bufio.NewReader(reader)}
}

func (p *planeProcess) order(t *testing.T, order map[string]any) planeAnswer {
	t.Helper()
	line, err := json.Marshal(order)
	require.NoError(t, err)
	require.NoError(t, p.process.Input(append(line, '\n')))
	said := make(chan string, 1)
	go func() {
		line, _ := p.answers.ReadString('\n')
		said <- line
	}()
	select {
	case line := <-said:
		var answer planeAnswer
		require.NoError(t, json.Unmarshal([]byte(line), &answer))
		return answer
	case <-p.process.Ended():
		require.Fail(t, "the plane ended", p.process.Output())
	case <-time.After(patience):
		require.Fail(t, "the plane does not answer")
	}
	return planeAnswer{}
}

// apply has the state hold.
func (p *planeProcess) apply(t *testing.T, state multilink.State) {
	t.Helper()
	require.Empty(t, p.order(t, map[string]any{"apply": state}).Error)
}

// awaitLink waits until the plane sends over a link to its only peer.
func (p *planeProcess) awaitLink(t *testing.T, link string) {
	t.Helper()
	require.Eventually(t, func() bool {
		peers := p.order(t, map[string]any{}).Status.Peers
		return len(peers) == 1 && peers[0].ActiveLink == link
	}, patience, 200*time.Millisecond, "wait for %q to be used", link)
}

// failovers counts those of its only peer.
func (p *planeProcess) failovers(t *testing.T) uint64 {
	t.Helper()
	peers := p.order(t, map[string]any{}).Status.Peers
	require.Len(t, peers, 1)
	return peers[0].Counters.Failovers
}

// pathMTU returns that of its primary.
func (p *planeProcess) pathMTU(t *testing.T) int {
	t.Helper()
	links := p.order(t, map[string]any{}).Status.Links
	require.NotEmpty(t, links)
	return links[0].PathMTU
}

func TestPlane_switchesBetweenLinks(t *testing.T) {
	t.Parallel()
	config := vmtest.Config{
		Modules:  []string{"veth", "dummy", "sch_netem", "sch_tbf", "bridge", "bonding max_bonds=0", "wireguard", "vxlan"},
		Programs: []string{"ip", "tc", "busybox"},
		Files:    map[string]string{"/bin/plane": vmtest.Build(t, "github.com/iotenablers/enablers/test/multilink/vm/plane")},
	}
	guest := vmtest.Boot(t, config)
	require.Equal(t, "<nil>\n", guest.Root().Run(t, "/bin/plane", "available"))
	n := newWiredNetwork(t, guest)
	client, server := planeStates(t)
	gateway, other := startPlane(t, n.gateway), startPlane(t, n.server)
	other.apply(t, server)
	gateway.apply(t, client)

	n.awaitPing(t, bonded)
	gateway.awaitLink(t, "wifi")
	other.awaitLink(t, "wifi")

	t.Run("silence of the primary and of its first backup", func(t *testing.T) {
		for _, step := range []struct{ cut, next string }{{"wifi", "mesh"}, {"mesh", "5g"}} {
			n.silence(t, step.cut)
			gateway.awaitLink(t, step.next)
			other.awaitLink(t, step.next)
			n.awaitPing(t, bonded)
		}
	})
	t.Run("return to the primary", func(t *testing.T) {
		n.restore(t, "wifi")
		gateway.awaitLink(t, "wifi")
		other.awaitLink(t, "wifi")
		n.awaitPing(t, bonded)
		n.restore(t, "mesh")
	})
	t.Run("a carrier is gone and comes back", func(t *testing.T) {
		n.server.Run(t, "ip", "link", "set", "wifi", "down")
		gateway.awaitLink(t, "mesh")
		n.awaitPing(t, bonded)
		n.server.Run(t, "ip", "link", "set", "wifi", "up")
		gateway.awaitLink(t, "wifi")
		n.awaitPing(t, bonded)
	})
	t.Run("a switch by hand", func(t *testing.T) {
		require.Empty(t, gateway.order(t, map[string]any{"switch": "5g"}).Error)
		gateway.awaitLink(t, "5g")
		n.awaitPing(t, bonded)
		require.Empty(t, gateway.order(t, map[string]any{"switch": ""}).Error)
		gateway.awaitLink(t, "wifi")
		require.Contains(t, gateway.order(t, map[string]any{"switch": "lte"}).Error, "unknown link")
	})
	t.Run("a link swallows long packets", func(t *testing.T) {
		whole := func() error {
			_, err := n.gateway.Try(strings.Fields("busybox ping -c 1 -W 2 -s 1300 " + bonded)...)
			return err
		}
		await(t, "an answer to a long packet", func() bool { return whole() == nil })
		await(t, "the path MTU to be known", func() bool { return gateway.pathMTU(t) == 1480 })
		for _, end := range []*vmtest.Namespace{n.gateway, n.server} { // 1,400 bytes and the Ethernet header
			end.Run(t, strings.Fields("tc qdisc replace dev wifi root tbf rate 100mbit burst 1414 latency 1s")...)
		}
		for _, end := range []*planeProcess{gateway, other} {
			await(t, "the path MTU to be found", func() bool { got := end.pathMTU(t); return got > 1400-40 && got <= 1400 })
		}
		await(t, "an answer to a long packet", func() bool { return whole() == nil })
		gateway.awaitLink(t, "wifi")

		six := client // an interface below 1,280 bytes has no address of IPv6
		six.Port.Addresses = append(slices.Clone(client.Port.Addresses), netip.MustParsePrefix("fd09::2/64"))
		gateway.apply(t, six)
		require.Contains(t, n.gateway.Run(t, "ip", "address", "show", "bonded"), "fd09::2/64")
		require.Regexp(t, "swallows long frames: .* at most 12.., got 1280", gateway.order(t, map[string]any{}).Status.Links[0].Reason)
		gateway.apply(t, client)
		await(t, "the MTU to follow", func() bool {
			return strings.Contains(n.gateway.Run(t, "ip", "link", "show", "bonded"), " mtu 12") &&
				!strings.Contains(n.gateway.Run(t, "ip", "link", "show", "bonded"), " mtu 1280")
		})
		require.NoError(t, whole())
		for _, end := range []*vmtest.Namespace{n.gateway, n.server} {
			end.Run(t, strings.Fields("tc qdisc delete dev wifi root")...)
		}
	})
	t.Run("what it cannot do is refused, and disturbs nothing", func(t *testing.T) {
		replay := client
		replay.Bond.NoReplay = false
		require.Contains(t, gateway.order(t, map[string]any{"apply": replay}).Error, "bond: replay")
		lost := client
		lost.Links = append([]settings.Link{{Name: "lte", Kind: settings.FiveG, Priority: 9}}, client.Links...)
		require.Contains(t, gateway.order(t, map[string]any{"apply": lost}).Error, "unknown link")
		require.NoError(t, n.ping(bonded, 30))
	})
	t.Run("a key is removed and added live", func(t *testing.T) {
		without := server
		without.Peers = nil
		other.apply(t, without)
		received := n.server.Run(t, "busybox", "cat", "/sys/class/net/bonded/statistics/rx_packets")
		require.Error(t, n.ping(bonded, 2))
		require.Equal(t, received, n.server.Run(t, "busybox", "cat", "/sys/class/net/bonded/statistics/rx_packets"))
		other.apply(t, server)
		gateway.awaitLink(t, "wifi")
		other.awaitLink(t, "wifi")
		n.awaitPing(t, bonded)
	})
	t.Run("another peer comes and goes unnoticed", func(t *testing.T) {
		two := server
		two.Peers = append([]multilink.PeerConfig{{Name: "gw-2", PublicKey: multilink.Key{8},
			Links: server.Peers[0].Links}}, server.Peers...)
		// A plane that the machine stops for too long moves to another link, which loses packets: such a trial says
		// nothing.
		for disturbed := range 5 {
			before := gateway.failovers(t) + other.failovers(t)
			pings := n.gateway.Start(t, vmtest.Program{Argv: []string{"busybox", "ping", "-c", "20", "-i", "0.1", "-W", "30", bonded}})
			for range 3 {
				other.apply(t, two)
				other.apply(t, server)
			}
			<-pings.Ended()
			if strings.Contains(pings.Output(), " 0% packet loss") {
				t.Logf("%d trials were disturbed", disturbed)
				return
			}
			require.NotEqual(t, before, gateway.failovers(t)+other.failovers(t), pings.Output())
			gateway.awaitLink(t, "wifi")
			other.awaitLink(t, "wifi")
		}
		require.Fail(t, "a link was left in every trial")
	})
	t.Run("a bridge that was there is used, and left", func(t *testing.T) {
		for _, line := range []string{"ip link add lan type bridge", "ip link add lan0 type dummy", "ip link set lan0 up"} {
			n.gateway.Run(t, strings.Fields(line)...)
		}
		bridged := client
		bridged.Port.Bridge, bridged.Port.Members = "lan", []string{"lan0"}
		gateway.apply(t, bridged)
		n.awaitPing(t, bonded)
		require.Contains(t, n.gateway.Run(t, "ip", "link", "show", "lan0"), "master lan")
		gateway.apply(t, client)
		n.awaitPing(t, bonded)
		require.NotContains(t, n.gateway.Run(t, "ip", "link", "show", "lan0"), "master")
		require.NotContains(t, n.gateway.Run(t, "ip", "address", "show", "lan"), "10.9.0.2")
		n.gateway.Run(t, "ip", "link", "delete", "lan0")
		n.gateway.Run(t, "ip", "link", "delete", "lan")
	})
	t.Run("an interface goes away and comes back", func(t *testing.T) {
		n.gateway.Run(t, "ip", "link", "delete", "wifi")
		gateway.awaitLink(t, "mesh")
		gateway.apply(t, client) // which still names it
		n.awaitPing(t, bonded)
		n.wire(t, 0, "wifi")
		gateway.awaitLink(t, "wifi")
		n.awaitPing(t, bonded)
	})
	t.Run("a killed plane leaves nothing to the next one", func(t *testing.T) {
		gateway.process.Stop(t, syscall.SIGKILL)
		require.Contains(t, n.gateway.Run(t, "ip", "link"), "bonded")
		gateway = startPlane(t, n.gateway)
		require.Empty(t, gateway.order(t, map[string]any{}).Error)
		requireUntouched(t, n.gateway)
		gateway.apply(t, client)
		n.awaitPing(t, bonded)
	})
	t.Run("a closed plane leaves nothing", func(t *testing.T) {
		for end, plane := range map[*vmtest.Namespace]*planeProcess{n.gateway: gateway, n.server: other} {
			require.Empty(t, plane.order(t, map[string]any{"close": true}).Error)
			requireUntouched(t, end)
		}
	})
}

// bonded is the server's address on the bonded network.
const bonded = "10.9.0.1"

// newWiredNetwork returns a network with cables in place of radios.
func newWiredNetwork(t *testing.T, guest *vmtest.Guest) *network {
	t.Helper()
	root := guest.Root()
	n := &network{guest: guest, gateway: guest.In("gateway"), server: guest.In("server")}
	n.explain(t)
	root.Run(t, "ip", "netns", "add", "gateway")
	root.Run(t, "ip", "netns", "add", "server")
	for i, device := range []string{"wifi", "mesh", "5g"} {
		n.wire(t, i, device)
	}
	for _, end := range []*vmtest.Namespace{n.gateway, n.server} {
		end.Run(t, "ip", "link", "set", "lo", "up")
		end.Run(t, strings.Fields("tc qdisc add dev 5g root netem "+mobile)...)
	}
	return n
}

// wire creates a cable.
func (n *network) wire(t *testing.T, number int, device string) {
	t.Helper()
	n.guest.Root().Run(t, strings.Fields("ip link add "+device+" netns gateway type veth peer name "+device+" netns server")...)
	for i, end := range []*vmtest.Namespace{n.gateway, n.server} {
		address := netip.AddrFrom4([4]byte{10, 1, byte(number + 1), byte(i + 1)}).String() + "/24"
		end.Run(t, "ip", "address", "add", address, "dev", device)
		end.Run(t, "ip", "link", "set", device, "up")
	}
}

// requireUntouched requires that a namespace has the three devices that it began
// with, and no rule of ours.
func requireUntouched(t *testing.T, in *vmtest.Namespace) {
	t.Helper()
	links := in.Run(t, "ip", "-o", "link")
	require.Equal(t, 4, strings.Count(links, "\n"), links)
	for _, family := range []string{"-4", "-6"} {
		require.NotContains(t, in.Run(t, "ip", family, "rule"), "fwmark")
		require.NotContains(t, in.Run(t, "ip", family, "route", "show", "table", "all"), "unreachable")
	}
}

// planeStates returns the states of a client and of its server. The probes are slow,
// because the machine is.
func planeStates(t *testing.T) (client, server multilink.State) {
	t.Helper()
	var links []settings.Link
	for i, kind := range []settings.Kind{settings.WiFi, settings.Mesh, settings.FiveG} {
		links = append(links, settings.Link{
			Name: string(kind), Kind: kind, Priority: i + 1, Listen: uint16(50001 + i),
			Probe: settings.Probe{Interval: 100 * time.Millisecond, Multiplier: 8},
		})
	}
	keys := [2]multilink.Key{{1, 2, 3}, {4, 5, 6}}
	var public [2]multilink.Key
	for i, key := range keys {
		var err error
		public[i], err = key.PublicKey()
		require.NoError(t, err)
	}
	state := func(i int, address string, peer multilink.PeerConfig) multilink.State {
		return multilink.State{
			Port:  multilink.PortConfig{Name: "bonded", Addresses: []netip.Prefix{netip.MustParsePrefix(address)}},
			Links: links, Peers: []multilink.PeerConfig{peer}, Bond: settings.Bond{NoReplay: true}, PrivateKey: keys[i],
		}
	}
	calling := multilink.PeerConfig{Name: "server", PublicKey: public[1]}
	called := multilink.PeerConfig{Name: "gw-1", PublicKey: public[0]}
	for i, l := range links {
		preshared := multilink.Key{7, byte(i)}
		called.Links = append(called.Links, multilink.PeerLink{Link: l.Name, PresharedKey: preshared})
		calling.Links = append(calling.Links, multilink.PeerLink{
			Link: l.Name, PresharedKey: preshared,
			Endpoint: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(i + 1), 2}), l.Listen),
		})
	}
	return state(0, "10.9.0.2/24", calling), state(1, bonded+"/24", called)
}
