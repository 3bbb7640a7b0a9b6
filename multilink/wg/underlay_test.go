package wg_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/wg"
)

// patience is how long a test waits for what should come at once.
const patience = 20 * time.Second

func newKey(t testing.TB) multilink.Key {
	t.Helper()
	var k multilink.Key
	_, err := rand.Read(k[:])
	require.NoError(t, err)
	return k
}

func publicKey(t testing.TB, k multilink.Key) multilink.Key {
	t.Helper()
	p, err := k.PublicKey()
	require.NoError(t, err)
	return p
}

// end is an underlay of a test and its public key.
type end struct {
	*wg.Underlay
	public multilink.Key
}

func newEnd(t testing.TB, config multilink.UnderlayConfig, opts *wg.Options) end {
	t.Helper()
	if config.PrivateKey.IsZero() {
		config.PrivateKey = newKey(t)
	}
	if config.Link == "" {
		config.Link = "wifi"
	}
	u, err := wg.Open(t.Context(), config, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, u.Close()) })
	return end{u, publicKey(t, config.PrivateKey)}
}

func (e end) at(ip string) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(ip), e.Port())
}

// inbox keeps copies of what was received.
type inbox struct {
	mu  sync.Mutex
	all [][]byte
}

func (in *inbox) receive(packets [][]byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range packets {
		in.all = append(in.all, bytes.Clone(p))
	}
}

// without returns what was received but for packets that requireCarries sent, of
// which some may come late.
func (in *inbox) without(carried []byte) (all [][]byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range in.all {
		if !bytes.HasPrefix(p, carried) {
			all = append(all, p)
		}
	}
	return all
}

func (in *inbox) has(packet []byte) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range in.all {
		if bytes.Equal(p, packet) {
			return true
		}
	}
	return false
}

func (in *inbox) count() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.all)
}

func (in *inbox) reset() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.all = nil
}

func packet(format string, args ...any) []byte {
	return append([]byte{0x81, 1, 2, 3, 4, 5, 6, 7, 8}, fmt.Sprintf(format, args...)...)
}

// requireCarries has a packet cross, sent again until it arrives.
func requireCarries(t testing.TB, from multilink.Tunnel, to *inbox) {
	t.Helper()
	one := packet("carried %s", rand.Text())
	require.Eventually(t, func() bool {
		_ = from.SendControl(one)
		return to.has(one)
	}, patience, 5*time.Millisecond)
}

// pair is an initiator and a responder, over loopback.
type pair struct {
	caller, called             end
	toCalled, toCaller         multilink.Tunnel
	callerInbox, calledInbox   inbox
	callerConfig, calledConfig multilink.TunnelPeer
}

func newPair(t testing.TB, opts *wg.Options) *pair {
	t.Helper()
	p := &pair{
		caller: newEnd(t, multilink.UnderlayConfig{}, opts),
		called: newEnd(t, multilink.UnderlayConfig{}, opts),
	}
	p.calledConfig = multilink.TunnelPeer{PublicKey: p.caller.public}
	p.callerConfig = multilink.TunnelPeer{PublicKey: p.called.public, Endpoint: p.called.at("127.0.0.1")}
	var err error
	p.toCaller, err = p.called.Open(p.calledConfig, p.calledInbox.receive)
	require.NoError(t, err)
	p.toCalled, err = p.caller.Open(p.callerConfig, p.callerInbox.receive)
	require.NoError(t, err)
	return p
}

func TestTunnel_Send_keepsPacketsAndTheirOrder(t *testing.T) {
	t.Parallel()
	p := newPair(t, nil)
	requireCarries(t, p.toCalled, &p.calledInbox)
	requireCarries(t, p.toCaller, &p.callerInbox)
	p.calledInbox.reset()

	var want [][]byte
	for i := range 300 {
		one := packet("%d", i)
		one[0], one[8] = byte(i), byte(255-i)
		want = append(want, append(one, make([]byte, i)...))
	}
	want = append(want, want[0][:multilink.HeaderSize])
	for i := 0; i < len(want); i += 50 {
		require.NoError(t, p.toCalled.Send(want[i:min(i+50, len(want))]))
	}
	require.Eventually(t, func() bool { return len(p.calledInbox.without(packet("carried"))) >= len(want) }, patience, time.Millisecond)
	require.Equal(t, want, p.calledInbox.without(packet("carried")))
	require.Zero(t, p.toCalled.Stats().Dropped)
}

func TestTunnel_Send_queuesUntilTheHandshake(t *testing.T) {
	t.Parallel()
	first := packet("first")
	for range 10 {
		p := newPair(t, nil)
		require.NoError(t, p.toCalled.Send([][]byte{first}))
		// A packet waits for a second at most, in which a busy machine may not manage a handshake.
		require.Eventually(t, func() bool {
			return p.calledInbox.has(first) || p.toCalled.Stats().Dropped > 0
		}, patience, time.Millisecond)
		if p.calledInbox.has(first) {
			return
		}
		t.Log("no handshake within a second")
	}
	require.Fail(t, "the packet was dropped each time")
}

func TestTunnel_Send_takesPacketsUpToTheMTU(t *testing.T) {
	t.Parallel()
	p := newPair(t, nil)
	requireCarries(t, p.toCalled, &p.calledInbox)
	for _, n := range []int{p.toCalled.MTU(), p.toCalled.MTU() + 1, 9000, 65000} {
		one := make([]byte, n)
		_, err := rand.Read(one)
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			require.NoError(t, p.toCalled.Send([][]byte{one}))
			return p.calledInbox.has(one)
		}, patience, 10*time.Millisecond, "%d bytes", n)
	}
	require.ErrorIs(t, p.toCalled.Send([][]byte{make([]byte, 1<<16)}), multilink.ErrInvalid)
	require.ErrorIs(t, p.toCalled.Send([][]byte{make([]byte, multilink.HeaderSize-1)}), multilink.ErrInvalid)
	require.ErrorIs(t, p.toCalled.SendControl(nil), multilink.ErrInvalid)
}

func TestUnderlay_Open_servesManyPeers(t *testing.T) {
	t.Parallel()
	server := newEnd(t, multilink.UnderlayConfig{}, nil)
	const n = 5
	var inboxes, answers [n]inbox
	var down, up [n]multilink.Tunnel
	for i := range n {
		client := newEnd(t, multilink.UnderlayConfig{}, nil)
		psk := newKey(t)
		var err error
		down[i], err = server.Open(multilink.TunnelPeer{PublicKey: client.public, PresharedKey: psk}, inboxes[i].receive)
		require.NoError(t, err)
		up[i], err = client.Open(multilink.TunnelPeer{PublicKey: server.public, PresharedKey: psk,
			Endpoint: server.at("127.0.0.1")}, answers[i].receive)
		require.NoError(t, err)
	}
	for i := range n {
		requireCarries(t, up[i], &inboxes[i])
		requireCarries(t, down[i], &answers[i])
	}
	for i := range n {
		inboxes[i].reset()
	}
	for i := range n {
		require.NoError(t, up[i].Send([][]byte{packet("from %d", i)}))
	}
	for i := range n {
		require.Eventually(t, func() bool { return inboxes[i].has(packet("from %d", i)) }, patience, time.Millisecond)
		require.Len(t, inboxes[i].without(packet("carried")), 1)
	}
}

func TestUnderlay_Open_carriesNothingWithAnotherPresharedKey(t *testing.T) {
	t.Parallel()
	server, client := newEnd(t, multilink.UnderlayConfig{}, nil), newEnd(t, multilink.UnderlayConfig{}, nil)
	var got, right inbox
	tunnel, err := server.Open(multilink.TunnelPeer{PublicKey: client.public, PresharedKey: newKey(t)}, got.receive)
	require.NoError(t, err)
	up, err := client.Open(multilink.TunnelPeer{PublicKey: server.public, Endpoint: server.at("127.0.0.1")}, func([][]byte) {})
	require.NoError(t, err)
	require.Never(t, func() bool {
		require.NoError(t, up.SendControl(packet("refused")))
		return got.count() > 0
	}, 300*time.Millisecond, 10*time.Millisecond)
	require.True(t, up.Stats().Handshake.IsZero())

	require.NoError(t, tunnel.Close())
	_, err = server.Open(multilink.TunnelPeer{PublicKey: client.public}, right.receive)
	require.NoError(t, err)
	requireCarries(t, up, &right)
	require.Zero(t, got.count())
}

func TestTunnel_Close_endsReceivingOfThatPeerAlone(t *testing.T) {
	t.Parallel()
	server := newEnd(t, multilink.UnderlayConfig{}, nil)
	var kept, gone, again inbox
	open := func(to *inbox) (end, multilink.Tunnel, multilink.Tunnel) {
		client := newEnd(t, multilink.UnderlayConfig{}, nil)
		down, err := server.Open(multilink.TunnelPeer{PublicKey: client.public}, to.receive)
		require.NoError(t, err)
		up, err := client.Open(multilink.TunnelPeer{PublicKey: server.public, Endpoint: server.at("127.0.0.1")}, func([][]byte) {})
		require.NoError(t, err)
		requireCarries(t, up, to)
		return client, down, up
	}
	_, _, keeps := open(&kept)
	client, leaving, leaves := open(&gone)

	stop := make(chan struct{})
	var sending sync.WaitGroup
	var failures atomic.Int64
	for _, tunnel := range []multilink.Tunnel{keeps, leaves} {
		sending.Go(func() {
			ticker := time.NewTicker(time.Millisecond)
			defer ticker.Stop()
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-ticker.C:
				}
				var burst [][]byte
				for range 32 {
					burst = append(burst, packet("%d", i))
				}
				if tunnel.Send(burst) != nil {
					failures.Add(1)
				}
			}
		})
	}
	require.NoError(t, leaving.Close())
	after := gone.count()
	before := kept.count()
	require.Eventually(t, func() bool { return kept.count() > before+100 }, patience, time.Millisecond)
	require.Equal(t, after, gone.count())
	require.ErrorIs(t, leaving.Send([][]byte{packet("late")}), multilink.ErrClosed)
	require.ErrorIs(t, leaving.SendControl(packet("late")), multilink.ErrClosed)
	require.NoError(t, leaving.Close())

	_, err := server.Open(multilink.TunnelPeer{PublicKey: client.public}, again.receive)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return again.count() > 0 }, patience, time.Millisecond)
	close(stop)
	sending.Wait()
	require.Zero(t, failures.Load())
	require.Equal(t, after, gone.count())
}

func TestUnderlay_Open_refusesBadPeers(t *testing.T) {
	t.Parallel()
	u := newEnd(t, multilink.UnderlayConfig{}, nil)
	receive := func([][]byte) {}
	other := publicKey(t, newKey(t))
	_, err := u.Open(multilink.TunnelPeer{PublicKey: other}, receive)
	require.NoError(t, err)
	_, err = u.Open(multilink.TunnelPeer{PublicKey: other}, receive)
	require.ErrorIs(t, err, multilink.ErrDuplicate)
	for name, peer := range map[string]multilink.TunnelPeer{
		"no key":          {},
		"own key":         {PublicKey: u.public},
		"keepalive":       {PublicKey: newKey(t), Keepalive: -1},
		"endpoint's port": {PublicKey: newKey(t), Endpoint: netip.MustParseAddrPort("127.0.0.1:0")},
		"endpoint's zone": {PublicKey: newKey(t), Endpoint: netip.AddrPortFrom(netip.MustParseAddr("fe80::1%lo:1\nlisten_port=9\n#"), 1)},
		"endpoint":        {PublicKey: newKey(t), Endpoint: netip.MustParseAddrPort("0.0.0.0:1")},
	} {
		_, err := u.Open(peer, receive)
		require.ErrorIs(t, err, multilink.ErrInvalid, name)
		require.ErrorContains(t, err, `over "wifi"`, name)
	}
	_, err = u.Open(multilink.TunnelPeer{PublicKey: newKey(t)}, nil)
	require.ErrorIs(t, err, multilink.ErrInvalid)
	require.NoError(t, u.Close())
	_, err = u.Open(multilink.TunnelPeer{PublicKey: newKey(t)}, receive)
	require.ErrorIs(t, err, multilink.ErrClosed)
}

func TestOpen_refusesBadConfigs(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	for name, c := range map[string]struct {
		config multilink.UnderlayConfig
		opts   *wg.Options
	}{
		"no key":    {},
		"MTU":       {config: multilink.UnderlayConfig{PrivateKey: key, LinkMTU: 100}},
		"interface": {config: multilink.UnderlayConfig{PrivateKey: key, Interface: "a/b"}},
		"retry":     {config: multilink.UnderlayConfig{PrivateKey: key}, opts: &wg.Options{Retry: 1}},
	} {
		_, err := wg.Open(t.Context(), c.config, c.opts)
		require.ErrorIs(t, err, multilink.ErrInvalid, name)
	}
}

func TestOpen_namesAPortInUse(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"udp4", "udp6"} {
		taken, err := net.ListenUDP(network, nil)
		require.NoError(t, err)
		port := uint16(taken.LocalAddr().(*net.UDPAddr).Port)
		_, err = wg.Open(t.Context(), multilink.UnderlayConfig{Link: "5g", PrivateKey: newKey(t), Port: port}, nil)
		require.ErrorIs(t, err, multilink.ErrAddressInUse)
		require.ErrorContains(t, err, fmt.Sprintf("port %d", port))
		require.NoError(t, taken.Close())
	}
}

func TestUnderlay_showsNoSecretInLogsAndErrors(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	private, psk := newKey(t), newKey(t)
	opts := &wg.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	config := multilink.UnderlayConfig{PrivateKey: private}
	client, server := newEnd(t, config, opts), newEnd(t, multilink.UnderlayConfig{}, nil)
	var got inbox
	_, err := server.Open(multilink.TunnelPeer{PublicKey: client.public, PresharedKey: psk}, got.receive)
	require.NoError(t, err)
	up, err := client.Open(multilink.TunnelPeer{PublicKey: server.public, PresharedKey: psk,
		Endpoint: server.at("127.0.0.1")}, func([][]byte) {})
	require.NoError(t, err)
	requireCarries(t, up, &got)
	_, failure := client.Open(multilink.TunnelPeer{PublicKey: server.public, PresharedKey: psk}, func([][]byte) {})
	require.Error(t, failure)
	require.NoError(t, client.Close())

	shown := log.String() + failure.Error() + fmt.Sprintf("%v %+v %#v %s", client.Underlay, client.Underlay,
		client.Underlay, client.Underlay)
	require.Contains(t, shown, "handshake")
	for _, secret := range []multilink.Key{private, psk} {
		require.NotContains(t, shown, base64.StdEncoding.EncodeToString(secret[:]))
		require.NotContains(t, strings.ToLower(shown), hex.EncodeToString(secret[:]))
		require.NotContains(t, shown, fmt.Sprint([32]byte(secret)))
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestTunnel_Stats_hasHandshakeEndpointAndBytes(t *testing.T) {
	t.Parallel()
	p := newPair(t, nil)
	began := time.Now()
	requireCarries(t, p.toCalled, &p.calledInbox)
	requireCarries(t, p.toCaller, &p.callerInbox)
	require.Eventually(t, func() bool { return p.toCaller.Stats().Received > 0 }, patience, time.Millisecond)
	stats := p.toCaller.Stats()
	require.WithinRange(t, stats.Handshake, began, time.Now())
	require.Equal(t, p.caller.at("127.0.0.1"), stats.Endpoint)
	require.Positive(t, stats.Sent)
	require.Equal(t, p.called.at("127.0.0.1"), p.toCalled.Stats().Endpoint)
}

func TestTunnel_Send_neitherBlocksNorFailsWithoutAnEndpoint(t *testing.T) {
	t.Parallel()
	u := newEnd(t, multilink.UnderlayConfig{}, nil)
	tunnel, err := u.Open(multilink.TunnelPeer{PublicKey: newKey(t)}, func([][]byte) {})
	require.NoError(t, err)
	many := make([][]byte, 10_000)
	for i := range many {
		many[i] = packet("%d", i)
	}
	require.NoError(t, tunnel.Send(many))
	require.NoError(t, tunnel.SendControl(packet("control")))
	require.Positive(t, tunnel.Stats().Dropped)
}
