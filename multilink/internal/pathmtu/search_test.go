package pathmtu_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/internal/pathmtu"
)

// path answers the probes of a search: carries says whether the path carries the one of a length.
func path(q *pathmtu.Search, from, to time.Duration, carries func(n int) bool) {
	for now := from; now < to; now += 10 * time.Millisecond {
		n := q.Next(now, 0, 2*time.Second, pathmtu.Raise)
		longest := 1
		if n > 0 && carries(n) {
			longest = n
		}
		q.Report(now, longest, longest)
	}
}

func TestSearch_Length_staysThroughRandomLossAndFollowsABlackHole(t *testing.T) {
	var q pathmtu.Search
	q.Restrict(1434)
	path(&q, 0, time.Second, func(int) bool { return true })
	require.Equal(t, 1434, q.Length())

	number := 0
	lossy := func(int) bool { // of each ten probes, nine in a row are lost
		number++
		return number%10 == 0
	}
	for now := time.Second; now < time.Hour; now += time.Minute {
		path(&q, now, now+time.Minute, lossy)
		require.Equal(t, 1434, q.Length(), now)
	}
	path(&q, time.Hour, time.Hour+10*time.Second, func(n int) bool { return n <= 1340 })
	require.InDelta(t, 1332, q.Length(), 8)
}
