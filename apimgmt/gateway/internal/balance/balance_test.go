package balance_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway/internal/balance"
)

func targets(weights ...int) []entity.Target {
	var all []entity.Target
	for i, w := range weights {
		all = append(all, entity.Target{Target: fmt.Sprintf("t%d:80", i), Weight: &w})
	}
	return all
}

func newPool(t *testing.T, algorithm string, weights ...int) *balance.Pool {
	t.Helper()
	p, err := balance.New(entity.Upstream{Algorithm: algorithm}, targets(weights...), nil)
	require.NoError(t, err)
	return p
}

func count(p *balance.Pool, n int, hash func(int) uint64) map[string]int {
	counts := map[string]int{}
	for i := range n {
		if peer := p.Pick(hash(i), nil); peer != nil {
			counts[peer.Address]++
		}
	}
	return counts
}

func none(int) uint64 { return 0 }

func TestPool_Pick_followsTheWeights(t *testing.T) {
	p := newPool(t, "round-robin", 100, 50, 0, 50)
	require.Equal(t, map[string]int{"t0:80": 200, "t1:80": 100, "t3:80": 100}, count(p, 400, none))
	var runs, last = 0, ""
	for range 8 { // the heavy one does not come in long runs
		if a := p.Pick(0, nil).Address; a == last {
			runs++
		} else {
			last = a
		}
	}
	require.LessOrEqual(t, runs, 2)
}

func TestPool_Pick_skipsUnhealthyAndTriedPeers(t *testing.T) {
	for _, algorithm := range []string{"round-robin", "least-connections", "consistent-hashing"} {
		p := newPool(t, algorithm, 100, 100, 100)
		p.Peer("t1:80").SetHealth(false)
		for range 10 {
			require.Equal(t, "t2:80", p.Pick(7, []*balance.Peer{p.Peer("t0:80")}).Address, algorithm)
		}
		require.Nil(t, p.Pick(7, []*balance.Peer{p.Peer("t0:80"), p.Peer("t2:80")}), algorithm)
		p.Peer("t1:80").SetHealth(true)
		require.NotNil(t, p.Pick(7, []*balance.Peer{p.Peer("t0:80"), p.Peer("t2:80")}), algorithm)
	}
}

func TestPool_Pick_prefersTheLeastConnections(t *testing.T) {
	p := newPool(t, "least-connections", 100, 200)
	for range 30 {
		p.Pick(0, nil).Begin()
	}
	require.EqualValues(t, 10, p.Peer("t0:80").Active())
	require.EqualValues(t, 20, p.Peer("t1:80").Active())
}

func TestPool_Pick_movesFewKeysWithConsistentHashing(t *testing.T) {
	key := func(i int) uint64 { return balance.Hash(fmt.Sprintf("client-%d", i)) }
	before, after := newPool(t, "consistent-hashing", 100, 100, 100, 100), newPool(t, "consistent-hashing", 100, 100, 100, 100, 100)
	moved := 0
	for i := range 10_000 {
		a, b := before.Pick(key(i), nil).Address, after.Pick(key(i), nil).Address
		if a != b {
			require.Equal(t, "t4:80", b, "keys move to the new one only")
			moved++
		}
	}
	require.InDelta(t, 2000, moved, 600)
	for address, n := range count(newPool(t, "consistent-hashing", 100, 300), 10_000, key) {
		require.InDelta(t, map[string]int{"t0:80": 2500, "t1:80": 7500}[address], n, 700, address)
	}
}

func TestPool_Pick_failsBelowTheThreshold(t *testing.T) {
	p, err := balance.New(entity.Upstream{Healthchecks: &entity.Healthchecks{Threshold: 60}}, targets(100, 100), nil)
	require.NoError(t, err)
	require.NotNil(t, p.Pick(0, nil))
	p.Peer("t0:80").SetHealth(false)
	require.Nil(t, p.Pick(0, nil))
}

func TestPool_keepsHealthAcrossConfigurations(t *testing.T) {
	p := newPool(t, "round-robin", 100, 100)
	p.Peer("t1:80").SetHealth(false)
	same, err := balance.New(p.Spec(), targets(100, 100), p)
	require.NoError(t, err)
	require.Same(t, p, same)
	more, err := balance.New(p.Spec(), targets(100, 100, 100), p)
	require.NoError(t, err)
	require.NotSame(t, p, more)
	require.False(t, more.Peer("t1:80").Healthy())
	require.True(t, more.Peer("t2:80").Healthy())
}

func TestNew_refusesInvalidTargets(t *testing.T) {
	for _, target := range []string{"", ":80", "a:0", "a:65536", "a:x", "http://a", "a b:80", "a/b:80", "u@a:80"} {
		_, err := balance.New(entity.Upstream{}, []entity.Target{{Target: target}}, nil)
		require.ErrorContains(t, err, fmt.Sprintf("target %q", target))
	}
	p, err := balance.New(entity.Upstream{}, []entity.Target{{Target: "a"}, {Target: "[::1]:81"}, {Target: "::2"}}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"a:8000", "[::1]:81", "[::2]:8000"}, []string{p.Peers()[0].Address, p.Peers()[1].Address, p.Peers()[2].Address})
	_, err = balance.New(entity.Upstream{Algorithm: "magic"}, nil, nil)
	require.ErrorContains(t, err, "algorithm")
}

func TestPeer_Report_countsInARow(t *testing.T) {
	healthy := &entity.Verdict{HTTPStatuses: []int{200}, Successes: 2}
	unhealthy := &entity.Verdict{HTTPStatuses: []int{500}, HTTPFailures: 2, TCPFailures: 1, Timeouts: 3}
	peer := balance.NewPeer("a:80", "a")
	report := func(outcome balance.Outcome, status int) bool {
		return peer.Report(healthy, unhealthy, outcome, status)
	}
	require.False(t, report(balance.Answered, 500))
	require.False(t, report(balance.Answered, 200), "a success in between")
	require.False(t, report(balance.Answered, 500))
	require.False(t, report(balance.Answered, 404), "counts for nothing")
	require.True(t, report(balance.Answered, 500))
	require.False(t, peer.Healthy())
	require.False(t, report(balance.Answered, 200))
	require.True(t, report(balance.Answered, 200))
	require.True(t, peer.Healthy())
	require.True(t, report(balance.Unreachable, 0))
	peer.SetHealth(true)
	require.False(t, report(balance.TimedOut, 0))
	require.False(t, report(balance.TimedOut, 0))
	require.True(t, report(balance.TimedOut, 0))
}

func TestPool_activeChecksFindFailureAndRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := entity.Upstream{Healthchecks: &entity.Healthchecks{Active: entity.ActiveCheck{
			Timeout:   2,
			Healthy:   entity.Verdict{Interval: 10, HTTPStatuses: []int{200}, Successes: 2},
			Unhealthy: entity.Verdict{Interval: 5, HTTPStatuses: []int{500}, HTTPFailures: 1, TCPFailures: 1, Timeouts: 1},
		}}}
		p, err := balance.New(spec, targets(100, 100), nil)
		require.NoError(t, err)
		require.True(t, p.Watches())
		probe := func(ctx context.Context, peer *balance.Peer, _ *entity.ActiveCheck) (int, error) {
			if peer.Address == "t0:80" {
				return 200, nil
			}
			switch elapsed := time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)); {
			case elapsed < 15*time.Second: // hangs
				<-ctx.Done()
				return 0, ctx.Err()
			case elapsed < 20*time.Second:
				return 0, errors.New("refused")
			}
			return 200, nil
		}
		ctx, stop := context.WithCancel(t.Context())
		changes := 0
		done := make(chan struct{})
		go func() {
			p.Watch(ctx, probe, func(*balance.Peer) { changes++ })
			close(done)
		}()
		time.Sleep(11 * time.Second)
		require.True(t, p.Peer("t1:80").Healthy(), "the first check is under way")
		time.Sleep(2 * time.Second)
		require.False(t, p.Peer("t1:80").Healthy(), "it took longer than its timeout")
		time.Sleep(10 * time.Second)
		require.False(t, p.Peer("t1:80").Healthy(), "one success is not enough")
		time.Sleep(5 * time.Second)
		require.True(t, p.Peer("t1:80").Healthy())
		require.True(t, p.Peer("t0:80").Healthy())
		stop()
		<-done
		require.Equal(t, 2, changes)
	})
}
