package namespaces

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/netlab"
)

// other returns a second client on the client's host, over the same links.
func (p *pair) other() (key string, conn *net.UDPConn) {
	i := start(p.t, p.lab, netlab.Client, p.t.TempDir(), "-tap", "tap1")
	for n, l := range links {
		i.do("POST", "/interfaces/add", map[string]any{"name": l.name, "kind": l.kind, "priority": n}, nil)
	}
	var provisioned map[string]any
	p.server.do("POST", "/tunnel/client/add", map[string]any{"name": "gw-2", "addresses": []string{"10.9.0.3/24"}}, &provisioned)
	provisioned["server"] = p.server.url
	i.do("POST", "/tunnel/attach", provisioned, nil)
	i.set("active-backup", true, 20*time.Millisecond)
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		if outer := raw.Control(func(fd uintptr) { err = syscall.BindToDevice(int(fd), "tap1") }); outer != nil {
			return outer
		}
		return err
	}}
	dialer.LocalAddr = net.UDPAddrFromAddrPort(netip.MustParseAddrPort("10.9.0.3:0"))
	require.NoError(p.t, p.lab.In(netlab.Client, func() error {
		dialed, err := dialer.DialContext(p.t.Context(), "udp4", netip.AddrPortFrom(serverAddress, 7).String())
		if err == nil {
			conn = dialed.(*net.UDPConn)
		}
		return err
	}))
	p.t.Cleanup(func() { conn.Close() })
	await(p.t, "the second client to connect", func() bool { return i.active() == links[0].name })
	p.meet(conn)
	return provisioned["public_key"].(string), conn
}

func TestClients_comeAndGoAlone(t *testing.T) {
	p := connect(t)
	conn := p.echo()
	key, second := p.other()
	p.bond("active-backup", true)
	first := p.cross(conn, small())
	first.carry(100)

	carries := func() {
		crossing := p.cross(second, small())
		crossing.carry(300)
		require.Zero(t, crossing.end().Lost)
	}
	silent := func(why string) {
		crossing := p.cross(second, netlab.Ping{Interval: time.Millisecond, Size: 100, Patience: 300 * time.Millisecond})
		await(t, "packets to be sent", func() bool { return crossing.Sent() >= 300 })
		pinged := crossing.end()
		require.Equal(t, pinged.Sent, pinged.Lost, why)
	}
	carries()
	p.server.do("PUT", "/tunnel/client/disable", map[string]any{"public_key": key}, nil)
	silent("a disabled client got a frame through")
	p.server.do("PUT", "/tunnel/client/enable", map[string]any{"public_key": key}, nil)
	p.meet(second)
	carries()
	p.server.do("DELETE", "/tunnel/client/delete", map[string]any{"public_key": key}, nil)
	silent("a deleted client got a frame through")
	pinged := first.end()
	t.Log(pinged)
	require.Zero(t, pinged.Lost, "frames of a client without a change")
	require.Zero(t, pinged.Duplicates)

	status, _ := p.server.call("PUT", "/tunnel/client/enable", map[string]any{"public_key": key})
	require.Equal(t, http.StatusNotFound, status)
}

func TestInstance_keepsSecretsPrivate(t *testing.T) {
	p := connect(t)
	private := p.provisioned["private_key"].(string)
	secrets := []string{private}
	for _, l := range p.provisioned["links"].([]any) {
		if psk, ok := l.(map[string]any)["psk"].(string); ok {
			secrets = append(secrets, psk)
		}
	}
	require.Greater(t, len(secrets), 1)
	for _, i := range []*instance{p.server, p.client} {
		for _, path := range []string{"/interfaces", "/tunnel/client/", "/status", "/bond", "/metrics", "/classes", "/tunnel/attach"} {
			_, content := i.call("GET", path, nil)
			for _, secret := range secrets {
				require.NotContains(t, string(content), secret, path)
			}
		}
		for _, secret := range secrets {
			require.NotContains(t, i.Output(), secret)
		}
		files := 0
		require.NoError(t, filepath.WalkDir(i.data, func(path string, entry os.DirEntry, err error) error {
			require.NoError(t, err)
			info, err := entry.Info()
			require.NoError(t, err)
			if path != i.data { // the folder itself is the test's
				require.Zero(t, info.Mode().Perm()&0o077, "%s can be read by others: %v", path, info.Mode())
				files++
			}
			return nil
		}))
		require.Positive(t, files)
	}
}

func TestInstance_answersNothingWithoutTheToken(t *testing.T) {
	p := connect(t)
	for _, path := range []string{"/interfaces", "/tunnel/client/", "/status", "/bond", "/events"} {
		request, err := http.NewRequestWithContext(t.Context(), "GET", p.server.url+path, nil)
		require.NoError(t, err)
		for _, authorization := range []string{"", "Bearer ", "Bearer wrong", "Basic " + token} {
			request.Header.Set("Authorization", authorization)
			answer, err := p.server.client.Do(request)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, http.StatusUnauthorized, answer.StatusCode, "%s with %q", path, authorization)
		}
	}
}
