package plugin

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCounter_windowsFollowTheCalendar(t *testing.T) {
	at := time.Date(2028, 2, 29, 23, 59, 30, 5, time.FixedZone("", 3600)) // 22:59:30 UTC
	for period, want := range [][2]time.Time{
		{time.Date(2028, 2, 29, 22, 59, 30, 0, time.UTC), time.Date(2028, 2, 29, 22, 59, 31, 0, time.UTC)},
		{time.Date(2028, 2, 29, 22, 59, 0, 0, time.UTC), time.Date(2028, 2, 29, 23, 0, 0, 0, time.UTC)},
		{time.Date(2028, 2, 29, 22, 0, 0, 0, time.UTC), time.Date(2028, 2, 29, 23, 0, 0, 0, time.UTC)},
		{time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC), time.Date(2028, 3, 1, 0, 0, 0, 0, time.UTC)},
		{time.Date(2028, 2, 1, 0, 0, 0, 0, time.UTC), time.Date(2028, 3, 1, 0, 0, 0, 0, time.UTC)},
		{time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2029, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		begin, end := limit{period: period}.window(at)
		require.Equal(t, [2]int64{want[0].Unix(), want[1].Unix()}, [2]int64{begin, end}, periods[period].name)
	}
}

func TestCounter_startsEachWindowAtZero(t *testing.T) {
	c := newCounter([]limit{{period: 0, most: 2}, {period: 1, most: 3}}, 100)
	at := time.Date(2028, 1, 1, 0, 0, 10, 0, time.UTC)
	take := func(after time.Duration) bool { return !c.take("a", at.Add(after)).refused }
	require.True(t, take(0))
	require.True(t, take(0))
	require.False(t, take(900*time.Millisecond), "the second is full")
	require.True(t, take(time.Second))
	require.False(t, take(2*time.Second), "the minute is full, and what was refused has not counted")
	require.EqualValues(t, 48, c.take("a", at.Add(2*time.Second)).reset)
	require.True(t, take(50*time.Second))
	require.True(t, take(50*time.Second))
	require.False(t, take(50*time.Second))
	require.False(t, take(49*time.Second), "one that was late counts in the window after")
	require.True(t, take(-time.Hour), "a clock that was set back begins anew")
}

func TestCounter_isBounded(t *testing.T) {
	const most = 3200
	c := newCounter([]limit{{period: 5, most: 1}}, most)
	at := time.Date(2028, 1, 1, 0, 0, 10, 0, time.UTC)
	for i := range 10 * most {
		require.False(t, c.take(fmt.Sprint(i), at.Add(time.Duration(i)*time.Second)).refused)
	}
	require.LessOrEqual(t, c.clients(), most)
	require.Greater(t, c.clients(), most/2)
}

func BenchmarkCounter(b *testing.B) {
	c := newCounter([]limit{{period: 0, most: 1 << 60}, {period: 4, most: 1 << 60}}, 1000)
	at := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		c.take("i192.0.2.1", at)
	}
}

// clients returns the number of known clients.
func (c *counter) clients() int {
	n := 0
	for i := range c.parts {
		c.parts[i].mu.Lock()
		n += len(c.parts[i].known)
		c.parts[i].mu.Unlock()
	}
	return n
}
