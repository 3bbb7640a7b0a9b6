package devidp

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGuard_delaysAnAddressThatGuessesForManyUsers(t *testing.T) {
	g, now := newGuard(-1), time.Now()
	for n := range sourceFailures {
		require.LessOrEqual(t, g.wait("demouser", "10.0.0.3", now), time.Duration(0), n)
		g.begin(fmt.Sprint("unknown", n), "10.0.0.3", now)
	}
	require.Positive(t, g.wait("demouser", "10.0.0.3", now))
	require.LessOrEqual(t, g.wait("demouser", "10.0.0.4", now), time.Duration(0))
	require.LessOrEqual(t, g.wait("demouser", "10.0.0.3", now.Add(firstLock)), time.Duration(0))
	for range 30 {
		g.begin("unknown", "10.0.0.3", now)
	}
	require.Positive(t, g.wait("demouser", "10.0.0.3", now.Add(longestLock-time.Second)))
	require.LessOrEqual(t, g.wait("demouser", "10.0.0.3", now.Add(longestLock)), time.Duration(0), "no user waits for longer")
}

func TestGuard_succeed_resetsTheUserOnly(t *testing.T) {
	g, now := newGuard(-1), time.Now()
	for range sourceFailures - 1 {
		g.begin("victim", "10.0.0.3", now)
	}
	g.begin("own", "10.0.0.3", now)
	g.succeed("own", "10.0.0.3", now)
	g.begin("victim", "10.0.0.3", now)
	require.Positive(t, g.wait("own", "10.0.0.3", now), "logging in with one's own name is no way to go on guessing")
}

func TestGuard_isBounded(t *testing.T) {
	g, now := newGuard(1), time.Now()
	for n := range 2 * maxWatched {
		g.admit(fmt.Sprint(n), now)
	}
	require.Equal(t, maxWatched, g.order.Len())
	require.Len(t, g.known, maxWatched)
}
