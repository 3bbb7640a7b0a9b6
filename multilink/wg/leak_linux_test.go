package wg_test

import (
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/iotenablers/enablers/internal/netlab"
	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/wg"
)

func TestUnderlay_sendsNothingOverAnotherInterface(t *testing.T) {
	t.Parallel()
	lab := newLab(t, "mesh")
	cable(t, lab, "cable")
	var listener *net.UDPConn // hears the mesh alone
	require.NoError(t, lab.In(netlab.Server, func() (err error) {
		if listener, err = net.ListenUDP("udp4", nil); err != nil {
			return err
		}
		raw, err := listener.SyscallConn()
		if err != nil {
			return err
		}
		failure := raw.Control(func(fd uintptr) { err = unix.BindToDevice(int(fd), "mesh") })
		return errors.Join(failure, err)
	}))
	var heard atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		datagram := make([]byte, 2048)
		for {
			if _, _, err := listener.ReadFrom(datagram); err != nil {
				return
			}
			heard.Add(1)
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		<-done
	})
	to := netip.AddrPortFrom(netlab.Address(netlab.Server, 0), uint16(listener.LocalAddr().(*net.UDPAddr).Port))
	call := func(config multilink.UnderlayConfig) multilink.Tunnel {
		from := on(t, lab, netlab.Client, config, &wg.Options{Retry: 100 * time.Millisecond})
		tunnel, err := from.Open(multilink.TunnelPeer{PublicKey: publicKey(t, newKey(t)), Endpoint: to}, func([][]byte) {})
		require.NoError(t, err)
		return tunnel
	}

	bound := call(multilink.UnderlayConfig{Link: "cable", Interface: "cable"})
	change(t, lab, netlab.Client, "cable", netlink.LinkDel)
	requireDown(t, bound)
	require.Never(t, func() bool {
		_ = bound.SendControl(packet("astray"))
		return heard.Load() > 0
	}, 300*time.Millisecond, 5*time.Millisecond)

	call(multilink.UnderlayConfig{Link: "any"})
	require.Eventually(t, func() bool { return heard.Load() > 0 }, patience, time.Millisecond, "it could have been reached")
}
