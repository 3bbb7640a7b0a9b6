package host_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/host"
)

// lan creates interfaces of a machine that is in use: a bridge br1 with an
// address, and two interfaces lan0, which is enabled, and lan1.
func (n *network) lan() {
	n.run("ip link add br1 type bridge", "ip link set br1 up", "ip address add 192.0.2.1/24 dev br1",
		"ip link add lan0 type veth peer name far0", "ip link set lan0 up", "ip link set far0 up",
		"ip link add lan1 type veth peer name far1")
}

// state returns what the machine was made to be: interfaces and whether they are
// enabled, memberships, addresses and routes.
func (n *network) state() string {
	n.t.Helper()
	var links []struct {
		Ifname, Master string
		MTU            int
		Flags          []string
	}
	require.NoError(n.t, json.Unmarshal([]byte(n.run("ip -j link")), &links))
	var state strings.Builder
	for _, l := range links {
		fmt.Fprintf(&state, "%s of %q, mtu %d, enabled %v\n", l.Ifname, l.Master, l.MTU, slices.Contains(l.Flags, "UP"))
	}
	for line := range strings.Lines(n.run("ip -o -4 address", "ip -o -6 address show scope global")) {
		state.WriteString(strings.Join(strings.Fields(line)[1:4], " ") + "\n")
	}
	routes := n.run("ip route", "ip -6 route show proto 177")
	return state.String() + strings.ReplaceAll(routes, " linkdown", "")
}

func made() multilink.PortConfig {
	return multilink.PortConfig{
		Name: "ml0", Bridge: "br0", Members: []string{"lan0", "lan1"}, MTU: 1400,
		Addresses: addresses("10.9.0.1/24", "fd00::1/64"),
		Routes: []multilink.Route{
			{Destination: netip.MustParsePrefix("10.20.0.0/16"), Gateway: netip.MustParseAddr("10.9.0.2")},
			{Destination: netip.MustParsePrefix("10.30.0.0/16")},
			{Destination: netip.MustParsePrefix("fd20::/64"), Gateway: netip.MustParseAddr("fd00::2")},
		},
	}
}

// joined returns the port as a member of a bridge of another owner.
func joined() multilink.PortConfig {
	c := made()
	c.Bridge = "br1"
	return c
}

func TestHost_Port_isMadeAsConfiguredAndRemovedInFull(t *testing.T) {
	for name, config := range map[string]multilink.PortConfig{"own bridge": made(), "bridge of others": joined()} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			n.lan()
			before := n.state()
			path := journal(t)
			h := n.host(host.Options{Journal: path})
			port, err := h.Port(t.Context(), config)
			require.NoError(t, err)

			require.Contains(t, n.run("ip link show ml0"), "mtu 1400")
			addressed := n.run("ip address show " + config.Bridge)
			require.Contains(t, addressed, "inet 10.9.0.1/24")
			if config.Bridge == "br0" {
				require.Contains(t, addressed, "link/ether 02:8c:01:66:cf:9e", "it follows from the address")
			}
			require.Contains(t, addressed, "inet6 fd00::1/64 scope global nodad")
			for _, member := range []string{"ml0", "lan0", "lan1"} {
				require.Contains(t, n.run("ip -br link show master "+config.Bridge), member)
				require.Contains(t, n.run("ip link show "+member), "UP")
			}
			routes := n.run("ip route", "ip -6 route")
			require.Contains(t, routes, "10.20.0.0/16 via 10.9.0.2 dev "+config.Bridge)
			require.Contains(t, routes, "10.30.0.0/16 dev "+config.Bridge)
			require.Contains(t, routes, "fd20::/64 via fd00::2 dev "+config.Bridge)

			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

			require.Contains(t, n.run("ip link show ml0"), "link/ether fe:", "not the one that a bridge takes over")

			require.NoError(t, port.Close())
			require.Equal(t, before, n.state())
			port, err = h.Port(t.Context(), config)
			require.NoError(t, err, "it can be made again")
			require.NoError(t, h.Close())
			require.Equal(t, before, n.state())
			require.NoFileExists(t, path)
			require.NoError(t, port.Close())
			require.NoError(t, h.Close())
		})
	}
}

func TestHost_Port_keepsWhatWasThereBefore(t *testing.T) {
	n := newNetwork(t)
	n.lan()
	n.run("ip link set lan0 master br1", "ip address add 10.9.0.1/24 dev br1")
	before := n.state()
	config := joined()
	config.Addresses = addresses("10.9.0.1/24")
	config.Members = []string{"lan0"}
	config.Routes = nil
	h := n.host(host.Options{Journal: journal(t)})
	_, err := h.Port(t.Context(), config)
	require.NoError(t, err)
	require.NoError(t, h.Close())
	require.Equal(t, before, n.state())
}

func TestHost_Port_leavesNothingOnError(t *testing.T) {
	for name, test := range map[string]struct {
		change func(n *network, c *multilink.PortConfig)
		want   error
		says   string
	}{
		"unknown member": {func(_ *network, c *multilink.PortConfig) { c.Members = append(c.Members, "none0") },
			multilink.ErrUnknownLink, `"none0"`},
		"member of another bridge": {func(n *network, c *multilink.PortConfig) { n.run("ip link set lan1 master br1") },
			multilink.ErrDuplicate, `"lan1"`},
		"no bridge": {func(_ *network, c *multilink.PortConfig) { c.Bridge, c.Members = "lan1", nil },
			multilink.ErrDuplicate, `"lan1"`},
		"gateway elsewhere": {func(_ *network, c *multilink.PortConfig) { c.Routes[0].Gateway = netip.MustParseAddr("198.51.100.1") },
			multilink.ErrInvalid, `"198.51.100.1"`},
		"route that exists": {func(n *network, c *multilink.PortConfig) {
			c.Bridge = "br1"
			c.Routes = []multilink.Route{{Destination: netip.MustParsePrefix("192.0.2.0/24")}}
			n.run("ip route replace 192.0.2.0/24 dev br1 scope link")
		}, multilink.ErrDuplicate, `"192.0.2.0/24"`},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			n.lan()
			config := made()
			test.change(n, &config)
			before := n.state()
			h := n.host(host.Options{Journal: journal(t)})
			_, err := h.Port(t.Context(), config)
			require.ErrorIs(t, err, test.want)
			require.ErrorContains(t, err, test.says)
			require.ErrorContains(t, err, `create port "ml0": `)
			require.Equal(t, before, n.state())
		})
	}
}

func TestHost_Port_refusesInvalidConfigs(t *testing.T) {
	h := newNetwork(t).host(host.Options{})
	for says, change := range map[string]func(c *multilink.PortConfig){
		"name":              func(c *multilink.PortConfig) { c.Name = "a/b" },
		"must be a name":    func(c *multilink.PortConfig) { c.Name = "sixteen-letters-" },
		"must be a name of": func(c *multilink.PortConfig) { c.Name = "lo" },
		"bridge":            func(c *multilink.PortConfig) { c.Bridge = "ml0" },
		"members":           func(c *multilink.PortConfig) { c.Members = []string{"eth0"} },
		"members: not":      func(c *multilink.PortConfig) { c.Bridge, c.Members = "br0", []string{"eth0", "eth0"} },
		"mtu":               func(c *multilink.PortConfig) { c.MTU = 9001 },
		"mtu: must be":      func(c *multilink.PortConfig) { c.MTU = -1 },
		"mtu: IPv6":         func(c *multilink.PortConfig) { c.MTU, c.Addresses = 1200, addresses("fd00::1/64") },
		"addresses":         func(c *multilink.PortConfig) { c.Addresses = []netip.Prefix{{}} },
		"twice":             func(c *multilink.PortConfig) { c.Addresses = addresses("10.0.0.1/8", "10.0.0.1/8") },
		"routes: not":       func(c *multilink.PortConfig) { c.Routes = []multilink.Route{{Destination: addresses("10.0.0.1/8")[0]}} },
		"IP version": func(c *multilink.PortConfig) {
			c.Routes = []multilink.Route{{Destination: addresses("10.0.0.0/8")[0], Gateway: netip.MustParseAddr("fd00::1")}}
		},
	} {
		config := multilink.PortConfig{Name: "ml0"}
		change(&config)
		_, err := h.Port(t.Context(), config)
		require.ErrorIs(t, err, multilink.ErrInvalid, says)
		require.ErrorContains(t, err, says)
	}
}

func TestOptions_Allow_refusesOtherOperations(t *testing.T) {
	n := newNetwork(t)
	n.lan()
	before := n.state()
	for says, options := range map[string]host.Options{
		`"tap" on "ml0"`:       {Allow: []host.Operation{host.Nothing}},
		`"addresses" on "ml0"`: {Allow: []host.Operation{host.TAP, host.Bridge, host.Members, host.Routes}},
		`"routes" on "ml0"`:    {Allow: []host.Operation{host.TAP, host.Bridge, host.Members, host.Addresses}},
		`"bridge" on "br0"`:    {Allow: []host.Operation{host.TAP, host.Members, host.Addresses, host.Routes}},
		`"members" on "lan0"`:  {Allow: []host.Operation{host.TAP, host.Bridge, host.Addresses, host.Routes}},
		`interface "lan1"`:     {Interfaces: []string{"lan0", "br*"}},
	} {
		h := n.host(options)
		_, err := h.Port(t.Context(), made())
		require.ErrorIs(t, err, multilink.ErrDenied, says)
		require.ErrorContains(t, err, says)
		require.Regexp(t, `Options\.(Allow|Interfaces)`, err.Error())
		require.Equal(t, before, n.state(), says)
		require.NoError(t, h.Close())
	}
	h := n.host(host.Options{Interfaces: []string{"lan?"},
		Allow: []host.Operation{host.TAP, host.Bridge, host.Members, host.Addresses, host.Routes}})
	_, err := h.Port(t.Context(), joined())
	require.ErrorContains(t, err, `interface "br1"`)
	_, err = h.Link(t.Context(), "far0")
	require.ErrorIs(t, err, multilink.ErrDenied)
	_, err = h.Port(t.Context(), made())
	require.NoError(t, err, "what is allowed works")
	_, err = h.Port(t.Context(), multilink.PortConfig{Name: "ml1", Bridge: "br0"})
	require.NoError(t, err, "and so does the host's own bridge")
	links, err := h.Links(t.Context())
	require.NoError(t, err)
	require.Len(t, links, 2)
}

func TestOpen_refusesANameOrJournalInUse(t *testing.T) {
	n := newNetwork(t)
	path := journal(t)
	first := n.host(host.Options{Journal: path})
	_, err := host.Open(t.Context(), &host.Options{Namespace: n.path})
	require.ErrorIs(t, err, multilink.ErrDuplicate)
	_, err = host.Open(t.Context(), &host.Options{Namespace: n.path, Name: "other", Journal: path})
	require.ErrorIs(t, err, multilink.ErrDuplicate)
	n.host(host.Options{Name: "other"})
	newNetwork(t).host(host.Options{})
	require.NoError(t, first.Close())
	n.host(host.Options{Journal: path})
}

func TestOpen_refusesInvalidOptions(t *testing.T) {
	for says, options := range map[string]host.Options{
		"Options.Name":       {Name: "a b"},
		"Options.Interfaces": {Interfaces: []string{"[a"}},
		"Options.Allow":      {Allow: []host.Operation{"everything"}},
	} {
		_, err := host.Open(t.Context(), &options)
		require.ErrorIs(t, err, multilink.ErrInvalid)
		require.ErrorContains(t, err, says)
	}
	_, err := host.Open(t.Context(), &host.Options{Namespace: "/nowhere"})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = host.Open(t.Context(), &host.Options{Name: "nowhere", Journal: filepath.Join(t.TempDir(), "none", "journal")})
	require.ErrorIs(t, err, os.ErrNotExist)
}
