package netlab_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/netlab"
)

// laboratory is a lab with two links, and a ping over the first one.
func laboratory(t *testing.T) (*netlab.Lab, func(time.Duration) netlab.Pinged) {
	lab, err := netlab.New("wifi0", "mesh0")
	if errors.Is(err, os.ErrPermission) || errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("network namespaces take root on Linux: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lab.Close()) })
	var server, client *net.UDPConn
	address := net.UDPAddrFromAddrPort(netip.AddrPortFrom(netlab.Address(netlab.Server, 0), 7))
	require.NoError(t, lab.In(netlab.Server, func() (err error) {
		server, err = net.ListenUDP("udp4", address)
		return err
	}))
	t.Cleanup(func() { server.Close() })
	go netlab.Echo(server)
	require.NoError(t, lab.In(netlab.Client, func() (err error) {
		client, err = net.DialUDP("udp4", nil, address)
		return err
	}))
	t.Cleanup(func() { client.Close() })
	return lab, func(d time.Duration) netlab.Pinged {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		result, err := netlab.Ping{Interval: time.Millisecond, Size: 100, Patience: 100 * time.Millisecond}.Run(ctx, client)
		require.NoError(t, err)
		t.Log(result)
		return result
	}
}

func TestLab_carriesPackets(t *testing.T) {
	_, ping := laboratory(t)
	ping(50 * time.Millisecond) // until addresses are resolved
	result := ping(200 * time.Millisecond)
	require.Zero(t, result.Lost)
	require.Zero(t, result.Duplicates)
}

func TestLab_Cut_losesPacketsUntilRestored(t *testing.T) {
	lab, ping := laboratory(t)
	require.NoError(t, lab.Cut("wifi0"))
	result := ping(100 * time.Millisecond)
	require.Equal(t, result.Sent, result.Lost)
	require.NoError(t, lab.Restore("wifi0"))
	ping(50 * time.Millisecond)
	require.Zero(t, ping(100*time.Millisecond).Lost)
}

func TestLab_Pass_cutsOneDirection(t *testing.T) {
	for _, to := range []netlab.Side{netlab.Client, netlab.Server} {
		lab, ping := laboratory(t)
		ping(50 * time.Millisecond)
		require.NoError(t, lab.Pass("wifi0", to, false))
		result := ping(100 * time.Millisecond)
		require.Equal(t, result.Sent, result.Lost)
	}
}

func TestLab_Carrier_isSeenAtItsEnd(t *testing.T) {
	lab, ping := laboratory(t)
	flags := func(side netlab.Side) (up bool) {
		require.NoError(t, lab.In(side, func() error {
			i, err := net.InterfaceByName("wifi0")
			if err == nil {
				up = i.Flags&net.FlagRunning != 0
			}
			return err
		}))
		return up
	}
	require.NoError(t, lab.Carrier("wifi0", netlab.Client, false))
	require.Eventually(t, func() bool { return !flags(netlab.Client) }, time.Minute, time.Millisecond)
	require.True(t, flags(netlab.Server))
	require.NoError(t, lab.Carrier("wifi0", netlab.Client, true))
	require.Eventually(t, func() bool { return ping(50*time.Millisecond).Lost == 0 }, time.Minute, time.Millisecond)
}

func TestLab_refusesAnUnknownLink(t *testing.T) {
	lab, _ := laboratory(t)
	require.ErrorContains(t, lab.Cut("lte0"), `"lte0"`)
}
