package netlab_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/netlab"
)

// patience is how long a test waits for what has to happen.
const patience = 30 * time.Second

// laboratory is a lab with two links, and a socket of the client's end of the first one that is connected to
// an echo service.
func laboratory(t *testing.T) (*netlab.Lab, *net.UDPConn) {
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
	meet(t, client)
	return lab, client
}

// meet sends packets until one is answered: the kernel takes interfaces into use a moment after it was asked to.
func meet(t *testing.T, conn netlab.Conn) {
	t.Helper()
	pinging := netlab.Ping{Interval: time.Millisecond, Size: 100, Patience: 100 * time.Millisecond}.Begin(conn)
	require.Eventually(t, func() bool { return pinging.Reached() > 0 }, patience, time.Millisecond)
	_, err := pinging.End()
	require.NoError(t, err)
}

// cross sends that many packets, and awaits their answers.
func cross(t *testing.T, conn netlab.Conn, packets int, ping netlab.Ping) netlab.Pinged {
	t.Helper()
	ping.Interval, ping.Size = time.Millisecond, 100
	pinging := ping.Begin(conn)
	require.Eventually(t, func() bool { return pinging.Sent() >= packets }, patience, time.Millisecond)
	result, err := pinging.End()
	require.NoError(t, err)
	t.Log(result)
	return result
}

// requireCarries sends packets that must not get lost.
func requireCarries(t *testing.T, conn netlab.Conn) {
	t.Helper()
	result := cross(t, conn, 100, netlab.Ping{Patience: patience, Grace: 50 * time.Millisecond})
	require.Zero(t, result.Lost)
	require.Zero(t, result.Duplicates)
}

// requireSilent sends packets that nothing may answer.
func requireSilent(t *testing.T, conn netlab.Conn) {
	t.Helper()
	result := cross(t, conn, 50, netlab.Ping{Patience: 100 * time.Millisecond})
	require.Equal(t, result.Sent, result.Lost)
}

func TestLab_carriesPackets(t *testing.T) {
	_, conn := laboratory(t)
	requireCarries(t, conn)
}

func TestLab_Cut_losesPacketsUntilRestored(t *testing.T) {
	lab, conn := laboratory(t)
	require.NoError(t, lab.Cut("wifi0"))
	requireSilent(t, conn)
	require.NoError(t, lab.Restore("wifi0"))
	requireCarries(t, conn)
}

func TestLab_Pass_cutsOneDirection(t *testing.T) {
	for _, to := range []netlab.Side{netlab.Client, netlab.Server} {
		lab, conn := laboratory(t)
		requireCarries(t, conn)
		require.NoError(t, lab.Pass("wifi0", to, false))
		requireSilent(t, conn)
	}
}

func TestLab_Carrier_isSeenAtItsEnd(t *testing.T) {
	lab, conn := laboratory(t)
	running := func(side netlab.Side) (up bool) {
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
	require.Eventually(t, func() bool { return !running(netlab.Client) }, patience, time.Millisecond)
	require.True(t, running(netlab.Server))
	require.NoError(t, lab.Carrier("wifi0", netlab.Client, true))
	require.Eventually(t, func() bool { return running(netlab.Client) }, patience, time.Millisecond)
	meet(t, conn)
	requireCarries(t, conn)
}

// echo answers packets in memory. It loses those of the numbers in lost, and answers those in twice again a while
// later.
type echo struct {
	answers     chan []byte
	deadline    chan time.Time
	end         <-chan time.Time
	lost, twice map[uint32]bool
}

func newEcho() *echo {
	return &echo{answers: make(chan []byte, 1<<16), deadline: make(chan time.Time, 8)}
}

func (e *echo) Write(packet []byte) (int, error) {
	number := binary.BigEndian.Uint32(packet[4:])
	if !e.lost[number] {
		e.answers <- bytes.Clone(packet)
	}
	if e.twice[number] {
		again := bytes.Clone(packet)
		time.AfterFunc(20*time.Millisecond, func() { e.answers <- again })
	}
	return len(packet), nil
}

func (e *echo) Read(packet []byte) (int, error) {
	for {
		select {
		case answer := <-e.answers:
			return copy(packet, answer), nil
		case at := <-e.deadline:
			e.end = time.After(time.Until(at))
		case <-e.end:
			return 0, os.ErrDeadlineExceeded
		}
	}
}

func (e *echo) SetReadDeadline(at time.Time) error {
	if !at.IsZero() {
		e.deadline <- at
	}
	return nil
}

func TestPing_Grace_endsOnceAllWasAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		lost, twice     map[uint32]bool
		losses, doubles int
		takes           time.Duration
	}{
		"all answered":          {takes: 50 * time.Millisecond},
		"one answered twice":    {twice: map[uint32]bool{10: true, 100: true}, doubles: 2, takes: 50 * time.Millisecond},
		"one without an answer": {lost: map[uint32]bool{10: true}, losses: 1, takes: patience},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := newEcho()
				conn.lost, conn.twice = c.lost, c.twice
				pinging := netlab.Ping{Interval: time.Millisecond, Size: 8, Patience: patience, Grace: 50 * time.Millisecond}.Begin(conn)
				time.Sleep(100*time.Millisecond + 1) // of the bubble's clock
				ended := time.Now()
				result, err := pinging.End()
				require.NoError(t, err)
				require.Equal(t, 101, result.Sent)
				require.Equal(t, c.losses, result.Lost)
				require.Equal(t, c.doubles, result.Duplicates)
				require.InDelta(t, c.takes, time.Since(ended), float64(time.Millisecond))
			})
		})
	}
}

func TestPing_Window_boundsWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := newEcho()
		conn.lost = map[uint32]bool{}
		for number := range uint32(1000) {
			conn.lost[number] = number >= 100
		}
		pinging := netlab.Ping{Interval: time.Millisecond, Size: 8, Window: 30}.Begin(conn)
		time.Sleep(100*time.Millisecond + 1) // of the bubble's clock
		require.Equal(t, 101, pinging.Sent())
		require.Equal(t, 100, pinging.Reached())
		time.Sleep(29 * time.Millisecond)
		require.Equal(t, 130, pinging.Sent())
		time.Sleep(time.Second)
		require.InDelta(t, 150, pinging.Sent(), 1, "one in every 50 ms")
		require.Equal(t, 100, pinging.Reached())
		result, err := pinging.End()
		require.NoError(t, err)
		require.Equal(t, result.Sent-100, result.Lost)
	})
}

func TestLab_refusesAnUnknownLink(t *testing.T) {
	lab, _ := laboratory(t)
	require.ErrorContains(t, lab.Cut("lte0"), `"lte0"`)
}
