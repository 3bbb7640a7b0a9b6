package namespaces

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/netlab"
	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/interop"
)

// built is cmd/multilink, built once for all tests.
var built string

func TestMain(m *testing.M) {
	if os.Getenv(spinVariable) != "" {
		spin()
		return
	}
	os.Exit(func() int {
		if !peertest.Required() {
			return m.Run() // every test logs why it skips
		}
		if runtime.GOOS != "linux" || os.Geteuid() != 0 {
			fmt.Fprintln(os.Stderr, "network namespaces take root on Linux, and the gate needs them")
			return 1
		}
		folder, err := os.MkdirTemp("", "multilink")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(folder)
		if built, err = interop.BuildIn(folder, "multilink"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

const token = "a token of the tests"

// patience is how long a test waits for what must happen.
const patience = time.Minute

// The links between the hosts, the primary first.
var links = []link{{"wifi0", "wifi"}, {"mesh0", "mesh"}, {"wwan0", "5g"}}

type link struct{ name, kind string }

// instance is a process of cmd/multilink on one of the hosts.
type instance struct {
	*interop.Process
	t      *testing.T
	lab    *netlab.Lab
	side   netlab.Side
	data   string
	url    string
	client *http.Client
}

// start runs cmd/multilink on a host until the test ends, over a folder of data.
func start(t *testing.T, lab *netlab.Lab, side netlab.Side, data string, args ...string) *instance {
	i := &instance{t: t, lab: lab, side: side, data: data}
	role := "client"
	if side == netlab.Server {
		role = "server"
		args = append(args, "-address", serverAddress.String()+"/24")
	}
	command := exec.Command(built, append([]string{"-role", role, "-listen", "127.0.0.1:0", "-data", data, "-tap",
		"tap0"}, args...)...)
	command.Env = append(os.Environ(), "MULTILINK_TOKEN="+token)
	i.Process = interop.StartProcessBy(t, command, func() error { return lab.In(side, command.Start) })
	t.Cleanup(func() {
		i.Stop()
		require.NotContains(t, i.Output(), token)
	})
	i.url = i.AwaitLine("listening on ")
	i.client = &http.Client{Timeout: patience, Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (conn net.Conn, err error) {
			err = lab.In(side, func() error {
				conn, err = new(net.Dialer).DialContext(ctx, network, address)
				return err
			})
			return conn, err
		},
	}}
	t.Cleanup(i.client.CloseIdleConnections)
	return i
}

// call does a request and returns the answer's status and body.
func (i *instance) call(method, path string, body any) (int, []byte) {
	var reader io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		require.NoError(i.t, err)
		reader = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(i.t.Context(), method, i.url+path, reader)
	require.NoError(i.t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := i.client.Do(request)
	require.NoError(i.t, err)
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	require.NoError(i.t, err)
	return answer.StatusCode, content
}

// do calls and decodes an answer that must be good.
func (i *instance) do(method, path string, body, into any) {
	i.t.Helper()
	status, content := i.call(method, path, body)
	require.Less(i.t, status, 300, "%s %s: %s", method, path, content)
	if into != nil {
		require.NoError(i.t, json.Unmarshal(content, into), "%s %s: %s", method, path, content)
	}
}

// linkRecord is a link as GET /interfaces shows it.
type linkRecord struct {
	Name   string `json:"name"`
	Role   string `json:"role"`
	State  string `json:"state"`
	Active bool   `json:"active"`
	Reason string `json:"reason"`
}

// waits reports whether the peer is heard over a link that is not used again yet.
func (r linkRecord) waits() bool { return r.State == "down" && r.Reason == "heard again, not used yet" }

func (i *instance) interfaces() []linkRecord {
	var records []linkRecord
	i.do("GET", "/interfaces", nil, &records)
	return records
}

// active returns the link that carries the frames; empty without one.
func (i *instance) active() string {
	for _, r := range i.interfaces() {
		if r.Active {
			return r.Name
		}
	}
	return ""
}

// pair is a server and a client that are connected over all links.
type pair struct {
	t              *testing.T
	lab            *netlab.Lab
	server, client *instance
	provisioned    map[string]any
}

var (
	serverAddress = netip.MustParseAddr("10.9.0.1")
	clientAddress = netip.MustParseAddr("10.9.0.2")
)

func laboratory(t *testing.T) *netlab.Lab {
	if built == "" {
		t.Skipf("it takes root on Linux and two minutes; %s=1 asks for it", peertest.RequirePeers)
	}
	names := make([]string, len(links))
	for i, l := range links {
		names[i] = l.name
	}
	lab, err := netlab.New(names...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lab.Close()) })
	return lab
}

// connect starts a server and a client, and waits until they are connected
// over every link.
func connect(t *testing.T) *pair {
	lab := laboratory(t)
	p := &pair{t: t, lab: lab}
	p.server = start(t, lab, netlab.Server, t.TempDir())
	p.client = start(t, lab, netlab.Client, t.TempDir())
	for i, l := range links {
		record := map[string]any{"name": l.name, "kind": l.kind, "priority": 10 * (i + 1)}
		p.client.do("POST", "/interfaces/add", record, nil)
		record["endpoint"] = netip.AddrPortFrom(netlab.Address(netlab.Server, i), uint16(51820+i)).String()
		p.server.do("POST", "/interfaces/add", record, nil)
	}
	p.server.do("POST", "/tunnel/client/add", map[string]any{"name": "gw-1",
		"addresses": []string{clientAddress.String() + "/24"}}, &p.provisioned)
	p.provisioned["server"] = p.server.url
	p.client.do("POST", "/tunnel/attach", p.provisioned, nil)
	p.settle(links[0].name)
	return p
}

// await polls until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !holds(); wait(t, 10*time.Millisecond) {
		require.True(t, time.Now().Before(late), "wait for %s", what)
	}
}

// wait lets real time pass: what is tried here is how processes behave in it.
func wait(t *testing.T, d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// every reports whether something holds for each link at both ends.
func (p *pair) every(holds func(linkRecord) bool) bool {
	for _, i := range []*instance{p.client, p.server} {
		for _, r := range i.interfaces() {
			if !holds(r) {
				return false
			}
		}
	}
	return true
}

// settle waits until every link is up at both ends and the named one carries
// the frames both ways.
func (p *pair) settle(active string) {
	p.t.Helper()
	await(p.t, "every link to be up, and "+active+" to be active", func() bool {
		return p.every(func(r linkRecord) bool { return r.State == "up" && r.Active == (r.Name == active) })
	})
}

// up waits until every link is up at both ends.
func (p *pair) up() {
	p.t.Helper()
	await(p.t, "every link to be up", func() bool { return p.every(func(r linkRecord) bool { return r.State == "up" }) })
}

// down waits until both ends have found the primary to be down.
func (p *pair) down() {
	p.t.Helper()
	await(p.t, "the primary to be down", func() bool {
		return p.every(func(r linkRecord) bool { return r.Name != links[0].name || (r.State == "down" && !r.waits()) })
	})
}

// bond has both ends use a policy. They wait for a fiftieth of a second before a link is used again, so that
// its relapses, which double that, take no minutes.
func (p *pair) bond(policy string, replay bool) { p.set(policy, replay, 20*time.Millisecond) }

// set changes the settings of the bond at both ends.
func (p *pair) set(policy string, replay bool, wait time.Duration) {
	p.client.set(policy, replay, wait)
	p.server.set(policy, replay, wait)
}

// set changes the settings of the bond. Replay keeps frames for ten seconds rather than half a second, so that no
// stall of a busy machine outlasts it.
func (i *instance) set(policy string, replay bool, wait time.Duration) {
	i.do("PUT", "/bond", map[string]any{"policy": policy, "replay": replay, "wait_to_restore_ms": wait.Milliseconds(),
		"replay_age_ms": 10_000, "replay_bytes": 64 << 20}, nil)
}

// probe has both ends probe every link at an interval of so many milliseconds, of which ten may be silent.
func (p *pair) probe(interval int) {
	for _, i := range []*instance{p.client, p.server} {
		for _, l := range links {
			i.do("PATCH", "/interfaces/"+l.name, map[string]any{"probe": map[string]any{"interval_ms": interval, "multiplier": 10}}, nil)
		}
	}
}

// echo answers on the server's end of the bonded network. It returns a socket
// of the client's end that is connected to it.
func (p *pair) echo() *net.UDPConn {
	const buffer = 16 << 20
	address := net.UDPAddrFromAddrPort(netip.AddrPortFrom(serverAddress, 7))
	var server, client *net.UDPConn
	require.NoError(p.t, p.lab.In(netlab.Server, func() (err error) {
		server, err = net.ListenUDP("udp4", address)
		return err
	}))
	p.t.Cleanup(func() { server.Close() })
	require.NoError(p.t, p.lab.In(netlab.Client, func() (err error) {
		client, err = net.DialUDP("udp4", nil, address)
		return err
	}))
	p.t.Cleanup(func() { client.Close() })
	for _, conn := range []*net.UDPConn{server, client} {
		raw, err := conn.SyscallConn()
		require.NoError(p.t, err)
		require.NoError(p.t, raw.Control(func(fd uintptr) {
			require.NoError(p.t, syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, 33 /* SO_RCVBUFFORCE */, buffer))
			require.NoError(p.t, syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, 32 /* SO_SNDBUFFORCE */, buffer))
		}))
	}
	go netlab.Echo(server)
	p.meet(client)
	return client
}

// meet sends packets until one is answered. Before that the kernel asks for an address, and keeps few packets meanwhile.
func (p *pair) meet(conn *net.UDPConn) {
	p.t.Helper()
	crossing := p.cross(conn, netlab.Ping{Interval: 10 * time.Millisecond, Size: 100, Patience: time.Second})
	crossing.carry(1)
	crossing.end()
}

// lost reports where frames were dropped, as far as they are counted.
func (i *instance) lost() string {
	var said strings.Builder
	_, status := i.call("GET", "/status", nil)
	fmt.Fprintf(&said, "%s", status)
	err := i.lab.In(i.side, func() error {
		for _, name := range []string{"net/dev", "net/snmp"} {
			content, err := os.ReadFile("/proc/thread-self/" + name)
			if err != nil {
				return err
			}
			fmt.Fprintf(&said, "\n%s", content)
		}
		return nil
	})
	if err != nil {
		fmt.Fprintf(&said, "\n%v", err)
	}
	return said.String()
}
