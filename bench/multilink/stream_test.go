package main

import (
	"context"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/netlab"
)

// echoes is a stream of packets, one a millisecond, whose answers took so long;
// a negative time is no answer.
func echoes(start time.Time, took ...time.Duration) *stream {
	s := &stream{}
	for i, d := range took {
		sent := start.Add(time.Duration(i) * time.Millisecond)
		s.sent = append(s.sent, sent)
		if d < 0 {
			s.answered = append(s.answered, time.Time{})
			continue
		}
		s.answered = append(s.answered, sent.Add(d))
	}
	return s
}

func TestPhaseHasItsOwnPacketsAndGaps(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	const half = 500 * time.Microsecond
	// Packets 3 and 4 are lost, and 5 comes before 6, but late.
	s := echoes(start, half, half, half, -1, -1, 2500*time.Microsecond, half, half)
	require.Equal(t, phase{Sent: 3, Lost: 0, Gap: 1}, s.between(start, at(3)))
	require.Equal(t, phase{Sent: 4, Lost: 2, Gap: 3.5}, s.between(at(3), at(6).Add(half)))
	require.Equal(t, phase{Sent: 2, Lost: 2, Gap: 2}, s.between(at(3), at(5)), "a gap that goes on counts as far as it goes")
	require.Equal(t, phase{Gap: 10}, s.between(at(20), at(30)), "nothing at all")
}

func TestStreamOverLoopbackLosesNothing(t *testing.T) {
	for _, whole := range []bool{true, false} {
		l := loopback(t, !whole)
		s := &stream{line: l, interval: time.Millisecond, size: packetSize}
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		done := make(chan error, 1)
		go func() { done <- s.run(ctx, 500*time.Millisecond) }()
		require.Eventually(t, func() bool { return s.count() >= 50 && s.reached(began) }, time.Minute, time.Millisecond)
		cancel()
		require.NoError(t, <-done)
		p := s.between(began, time.Now())
		require.GreaterOrEqual(t, p.Sent, 50)
		require.Zero(t, p.Lost)
		require.Zero(t, s.twice)
		require.False(t, s.reached(time.Now()))
	}
}

// loopback is a line to an echo of this host.
func loopback(t *testing.T, stream bool) *line {
	t.Helper()
	if !stream {
		server, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
		require.NoError(t, err)
		go netlab.Echo(server)
		conn, err := net.Dial("udp4", server.LocalAddr().String())
		require.NoError(t, err)
		l := &line{conn: conn, whole: true, ends: []io.Closer{server}}
		t.Cleanup(l.close)
		return l
	}
	end, serve, err := echo(t.Context(), netip.MustParseAddrPort("127.0.0.1:0"), true)
	require.NoError(t, err)
	go serve()
	conn, err := net.Dial("tcp4", end.(net.Listener).Addr().String())
	require.NoError(t, err)
	l := &line{conn: conn, ends: []io.Closer{end}}
	t.Cleanup(l.close)
	return l
}
