//go:build linux

package vm_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/multilink/vm/vmtest"
)

// patience is how long anything in the machine may take to come about. Its processor is emulated, on a host that may
// be busy.
const patience = 2 * time.Minute

// The addresses of the server over the three technologies.
const (
	wifiServer = "10.1.1.2"
	meshServer = "10.1.2.2"
	fiveServer = "10.1.3.2"
)

// mobile is how netem creates a mobile network of a pair of devices: 40 ms each
// way, more or less 8, which already lets packets overtake others, and some that
// are lost or sent at once.
const mobile = "delay 40ms 8ms loss 1% reorder 5%"

// network is a gateway and a server, each in a network namespace of its own, and
// what is between them: the devices wifi, mesh and 5g on either side.
type network struct {
	guest           *vmtest.Guest
	gateway, server *vmtest.Namespace
	accessPoint     *vmtest.Process
}

// machine returns what the network needs, besides what a test adds.
func machine() vmtest.Config {
	return vmtest.Config{
		// The last four are ciphers and modes of 802.11, which the kernel would ask
		// a program for.
		Modules:  []string{"veth", "tun", "bridge", "sch_netem", "mac80211_hwsim radios=4", "ccm", "ctr", "gcm", "cmac"},
		Programs: []string{"ip", "tc", "iw", "hostapd", "wpa_supplicant", "busybox"},
		Texts: map[string]string{
			"/etc/hostapd.conf": "interface=wifi\ndriver=nl80211\nssid=enablers\nhw_mode=g\nchannel=1\n" +
				"wpa=2\nwpa_key_mgmt=WPA-PSK\nrsn_pairwise=CCMP\nwpa_passphrase=a pass phrase\n",
			"/etc/wpa_supplicant.conf": "ap_scan=1\nnetwork={\n\tssid=\"enablers\"\n\tkey_mgmt=WPA-PSK\n\tpsk=\"a " +
				"pass phrase\"\n\tscan_freq=2412\n}\n",
		},
	}
}

// newNetwork builds the network in a machine and waits until its three links
// carry packets.
func newNetwork(t *testing.T, guest *vmtest.Guest) *network {
	t.Helper()
	root := guest.Root()
	n := &network{guest: guest, gateway: guest.In("gateway"), server: guest.In("server")}
	n.explain(t)
	for _, line := range []string{
		"ip netns add gateway", "ip netns add server",
		"iw phy phy0 set netns name server", "iw phy phy1 set netns name gateway",
		"iw phy phy2 set netns name server", "iw phy phy3 set netns name gateway",
		"ip link add 5g netns gateway type veth peer name 5g netns server",
	} {
		root.Run(t, strings.Fields(line)...)
	}
	for _, end := range []struct {
		namespace  *vmtest.Namespace
		wifi, mesh string
		host       string
	}{{n.server, "wlan0", "wlan2", "2"}, {n.gateway, "wlan1", "wlan3", "1"}} {
		for _, line := range []string{
			"ip link set lo up",
			"ip link set " + end.wifi + " name wifi", "ip address add 10.1.1." + end.host + "/24 dev wifi",
			"ip link set " + end.mesh + " name mesh", "ip address add 10.1.2." + end.host + "/24 dev mesh",
			"iw dev mesh set type mp", "ip link set mesh up", "iw dev mesh mesh join enablers freq 2437",
			"ip address add 10.1.3." + end.host + "/24 dev 5g", "ip link set 5g up",
			"tc qdisc add dev 5g root netem " + mobile,
		} {
			end.namespace.Run(t, strings.Fields(line)...)
		}
	}
	n.startAccessPoint(t)
	n.gateway.Start(t, vmtest.Program{Argv: []string{"wpa_supplicant", "-Dnl80211", "-iwifi", "-c/etc/wpa_supplicant.conf"}})
	for _, address := range []string{wifiServer, meshServer, fiveServer} {
		n.awaitPing(t, address)
	}
	return n
}

// explain adds the state of both namespaces to what is shown of a test that fails.
func (n *network) explain(t *testing.T) {
	t.Cleanup(func() {
		for _, end := range []*vmtest.Namespace{n.gateway, n.server} {
			for _, line := range []string{"ip -s -d address", "ip rule", "ip route show table all",
				"ip -6 route show table all"} {
				if t.Failed() {
					_, _ = end.Try(strings.Fields(line)...)
				}
			}
		}
	})
}

func (n *network) startAccessPoint(t *testing.T) {
	t.Helper()
	n.accessPoint = n.server.Start(t, vmtest.Program{Argv: []string{"hostapd", "/etc/hostapd.conf"}})
}

// silence has both ends of a link drop what they would send, and say nothing
// of that: its carrier stays, as when a radio is out of range for a while.
func (n *network) silence(t *testing.T, device string) {
	t.Helper()
	for _, end := range []*vmtest.Namespace{n.gateway, n.server} {
		end.Run(t, "tc", "qdisc", "replace", "dev", device, "root", "netem", "loss", "100%")
	}
}

// restore undoes silence.
func (n *network) restore(t *testing.T, device string) {
	t.Helper()
	for _, end := range []*vmtest.Namespace{n.gateway, n.server} {
		if device == "5g" {
			end.Run(t, append(strings.Fields("tc qdisc replace dev 5g root netem"), strings.Fields(mobile)...)...)
		} else {
			end.Run(t, "tc", "qdisc", "delete", "dev", device, "root")
		}
	}
}

// ping reports whether the gateway gets an answer from an address within some seconds.
func (n *network) ping(address string, seconds int) error {
	_, err := n.gateway.Try("busybox", "ping", "-c", "1", "-W", strconv.Itoa(seconds), address)
	return err
}

func (n *network) awaitPing(t *testing.T, address string) {
	t.Helper()
	await(t, "an answer from "+address, func() bool { return n.ping(address, 2) == nil })
}

// await waits until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	require.Eventually(t, holds, patience, 50*time.Millisecond, "wait for %s", what)
}
