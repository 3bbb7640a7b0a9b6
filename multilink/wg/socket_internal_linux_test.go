package wg

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/conn"

	"github.com/iotenablers/enablers/internal/netlab"
	"github.com/iotenablers/enablers/multilink"
)

// collect receives until it has n datagrams.
func collect(t *testing.T, s socket, n int) (all []string, from *remote) {
	bufs, sizes, ends := make([][]byte, batch), make([]int, batch), make([]conn.Endpoint, batch)
	for i := range bufs {
		bufs[i] = make([]byte, 1<<16)
	}
	late := time.AfterFunc(20*time.Second, func() { s.close() }) // ends receive
	defer late.Stop()
	for len(all) < n {
		got, err := s.receive(bufs, sizes, ends)
		require.NoError(t, err)
		require.Positive(t, got)
		for i := range got {
			all = append(all, string(bufs[i][:sizes[i]]))
			from = ends[i].(*remote)
		}
	}
	return all, from
}

func openPlain(t *testing.T, rs *remotes) sockets {
	s, err := listenPair(0, func(network string, port uint16) (socket, uint16, error) {
		c, err := net.ListenUDP(network, &net.UDPAddr{Port: int(port)})
		if err != nil {
			return nil, 0, err
		}
		if err := c.SetReadBuffer(receiveBuffer); err != nil {
			return nil, 0, err
		}
		return &plainSocket{conn: c, remotes: rs}, uint16(c.LocalAddr().(*net.UDPAddr).Port), nil
	})
	require.NoError(t, err)
	return s
}

func TestSocket_keepsTheOrderOfDatagrams(t *testing.T) {
	open := map[string]func(*remotes) sockets{
		"plain": func(rs *remotes) sockets { return openPlain(t, rs) },
	}
	for name, o := range map[string]Options{"offload": {}, "single": {NoOffload: true}} {
		open[name] = func(rs *remotes) sockets {
			s, _, err := listen("", 0, o, rs)
			require.NoError(t, err)
			return s
		}
	}
	for name, open := range open {
		t.Run(name, func(t *testing.T) {
			var here, there remotes
			from, to := open(&here), open(&there)
			defer from.close()
			defer to.close()
			require.NotZero(t, from.port)
			for _, ip := range []string{"127.0.0.1", "::1"} {
				addr := netip.MustParseAddr(ip)
				sender, receiver := from.v4, to.v4
				if addr.Is6() {
					sender, receiver = from.v6, to.v6
				}
				var want []string
				var bufs [][]byte
				for i := range batch { // runs of the same length, and a shorter one at the end of each
					one := fmt.Sprintf("%0*d", 1200-300*(i/40)-10*btoi(i%7 == 0), i)
					want, bufs = append(want, one), append(bufs, []byte(one))
				}
				target := here.get(netip.AddrPortFrom(addr, to.port))
				for range 3 {
					for i := 0; i < len(bufs); i += batch / 2 { // what any receive buffer holds
						stuck, err := sender.send(bufs[i:i+batch/2], target)
						require.NoError(t, err)
						require.False(t, stuck)
						got, who := collect(t, receiver, batch/2)
						require.Equal(t, want[i:i+batch/2], got)
						require.Equal(t, netip.AddrPortFrom(addr, from.port), who.to)
					}
				}
			}
			require.NoError(t, to.close())
			_, err := to.v4.receive(make([][]byte, 1), make([]int, 1), make([]conn.Endpoint, 1))
			require.ErrorIs(t, err, net.ErrClosed)
		})
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestSocket_send_joinsDatagramsOfOneSize(t *testing.T) {
	lengths := func(all ...int) (bufs [][]byte) {
		for _, n := range all {
			bufs = append(bufs, make([]byte, n))
		}
		return bufs
	}
	many := make([]int, 100)
	for i := range many {
		many[i] = 10
	}
	for want, bufs := range map[int][][]byte{
		1:           lengths(10, 11),
		2:           lengths(10, 9, 9),
		3:           lengths(10, 10, 10),
		maxSegments: lengths(many...),
		4:           lengths(16000, 16000, 16000, 16000, 16000),
	} {
		require.Equal(t, want, alike(bufs))
	}
}

func TestSocket_send_stopsJoiningWhereTheKernelRefuses(t *testing.T) {
	var c udpConn
	c.gso.Store(true)
	require.False(t, c.refuse(unix.ENETUNREACH))
	for range maxRefused - 1 {
		require.True(t, c.refuse(unix.EINVAL))
		require.True(t, c.gso.Load())
	}
	require.True(t, c.refuse(unix.EINVAL))
	require.False(t, c.gso.Load())
	c.gso.Store(true)
	require.True(t, c.refuse(unix.EIO))
	require.False(t, c.gso.Load())
}

func TestSocket_rebind_opensANewSocketWithoutTheRight(t *testing.T) {
	lab, err := netlab.New()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		t.Skip("network namespaces take root: ", err)
	}
	require.NoError(t, err)
	defer lab.Close()
	require.NoError(t, lab.In(netlab.Client, func() error {
		plug := func() error {
			return netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "radio"}, PeerName: "air"})
		}
		if err := plug(); err != nil {
			return err
		}
		s, on, err := listen("radio", 0, Options{Mark: 5}, new(remotes))
		if err != nil {
			return err
		}
		defer on.close()
		ended := make(chan error, 1)
		go func() {
			_, err := s.v4.receive([][]byte{make([]byte, 100)}, make([]int, 1), make([]conn.Endpoint, 1))
			ended <- err
		}()
		old := on.state()
		link, err := netlink.LinkByName("radio")
		if err != nil {
			return err
		}
		if err := errors.Join(netlink.LinkDel(link), plug()); err != nil {
			return err
		}
		require.NotEqual(t, old.index, on.state().index)
		for _, one := range []socket{s.v4, s.v6} {
			one := one.(*linuxSocket)
			before := one.live.Load()
			require.NoError(t, one.reopen(s.port))
			require.NotSame(t, before, one.live.Load())
			require.Equal(t, s.port, one.live.Load().port)
			require.NoError(t, one.control(func(fd uintptr) {
				index, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BINDTOIFINDEX)
				require.NoError(t, err)
				require.Equal(t, on.state().index, index)
				mark, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MARK)
				require.NoError(t, err)
				require.Equal(t, 5, mark)
			}))
		}
		require.Empty(t, ended, "the receiver goes on with the new socket")
		require.NoError(t, s.close())
		require.ErrorIs(t, <-ended, net.ErrClosed)
		require.NoError(t, s.v4.(*linuxSocket).reopen(s.port), "a socket that was closed stays so")
		return nil
	}))
}

func TestBind_Send_storesAndClearsTheFault(t *testing.T) {
	b := &bind{link: "mesh"}
	r := new(remotes).get(netip.MustParseAddrPort("192.0.2.1:7"))
	b.judge(r, unix.EMSGSIZE)
	require.Nil(t, r.fault.Load())
	b.judge(r, unix.ENETUNREACH)
	require.ErrorIs(t, r.fault.Load().err, multilink.ErrLinkDown)
	require.ErrorIs(t, r.fault.Load().err, unix.ENETUNREACH)
	require.ErrorContains(t, r.fault.Load().err, `"mesh"`)
	b.judge(r, unix.ENETDOWN)
	require.ErrorIs(t, r.fault.Load().err, unix.ENETDOWN)
	b.judge(r, nil)
	require.Nil(t, r.fault.Load())
}

func TestRemotes_boundUnknownAddresses(t *testing.T) {
	var rs remotes
	for i := range 3 * maxRemotes {
		rs.get(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 1))
	}
	require.LessOrEqual(t, len(rs.all), maxRemotes)
	mapped := netip.MustParseAddrPort("[::ffff:192.0.2.1]:1")
	require.Same(t, rs.get(mapped), rs.get(netip.MustParseAddrPort("192.0.2.1:1")))
	require.EqualValues(t, 3, rs.get(netip.MustParseAddrPort("[fe80::1%3]:1")).scope)
}
