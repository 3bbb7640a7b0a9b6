package history_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/history"
)

// clock is a time that tests set.
type clock struct{ now time.Time }

func newStore(most int) (*history.Store, *clock) {
	c := &clock{time.Unix(1_000_000_200, 0)}
	return history.New(&history.Options{MaxSeries: most, Clock: func() time.Time { return c.now }}), c
}

// shown returns the last values of a series as text.
func shown(p history.Plot, name string, n int) string {
	values := p.Series[name]
	text, _ := json.Marshal(values[len(values)-n:])
	return string(text)
}

func TestStore_Level_keepsTheMeanOfEachInterval(t *testing.T) {
	s, c := newStore(0)
	for i, value := range []float64{4, 6, 8} {
		c.now = c.now.Add(time.Duration(i%2) * time.Second) // two in the first interval
		s.Level("clients", value)
		c.now = c.now.Add(time.Duration(i/2) * time.Second)
	}
	c.now = c.now.Add(10 * time.Second)
	p := s.Query("cli", "10m")
	require.Equal(t, 2.0, p.Step)
	require.Len(t, p.Times, 300)
	require.Equal(t, c.now.Unix(), p.Times[299])
	require.Equal(t, "[6,null,null,null,null,null]", shown(p, "clients", 6))
	require.Empty(t, s.Query("other", "10m").Series)
}

func TestStore_Total_isARate(t *testing.T) {
	s, c := newStore(0)
	for _, total := range []float64{1000, 1010, 1030, 5} {
		s.Total("messages", total)
		c.now = c.now.Add(2 * time.Second)
	}
	require.Equal(t, "[0,5,10,2.5]", shown(s.Query("", "10m"), "messages", 4), "the last one is a new beginning")
	c.now = c.now.Add(15 * time.Second)
	hour := s.Query("", "1h")
	require.Equal(t, "1h", hour.Range)
	require.InDelta(t, 35.0/15, *hour.Series["messages"][len(hour.Times)-1], 1e-6)
}

func TestStore_Distribution_givesTheQuantilesOfTheRange(t *testing.T) {
	s, c := newStore(0)
	bounds := []float64{1, 10, 100}
	s.Distribution("call", bounds, []uint64{7, 7, 7, 7}) // before the first record: not counted
	c.now = c.now.Add(2 * time.Second)
	s.Distribution("call", bounds, []uint64{107, 7, 7, 7})
	c.now = c.now.Add(2 * time.Second)
	s.Distribution("call", bounds, []uint64{107, 7, 107, 7})
	c.now = c.now.Add(2 * time.Second)
	p := s.Query("", "10m")
	require.Equal(t, "[null,0.5,55]", shown(p, "call p50", 3))
	require.Equal(t, "[null,0.99,99.1]", shown(p, "call p99", 3))
	require.InDelta(t, 98.2, p.Whole["call"].P99, 1e-4)
	require.InDelta(t, 1, p.Whole["call"].P50, 1e-4)
	c.now = c.now.Add(time.Hour)
	require.Empty(t, s.Query("", "10m").Whole, "calls of an hour ago")
}

func TestStore_Query_forgetsWhatIsOlderThanTheRange(t *testing.T) {
	s, c := newStore(0)
	for i := range 700 {
		s.Level("load", float64(i))
		c.now = c.now.Add(history.Step)
	}
	p := s.Query("", "10m")
	require.Equal(t, "[698,699]", shown(p, "load", 2))
	require.Equal(t, float32(400), *p.Series["load"][0])
	for _, r := range history.Ranges() {
		require.Len(t, s.Query("", r.Name).Times, int(r.Length/r.Step))
	}
	c.now = c.now.Add(-time.Hour) // the clock is set back
	s.Level("load", 1)
	require.NotPanics(t, func() { s.Query("", "1h") })
	require.Equal(t, "10m", s.Query("", "unknown").Range)
}

func TestStore_isBounded(t *testing.T) {
	s, c := newStore(3)
	for i := range 10 {
		s.Level(fmt.Sprint(i), 1)
		c.now = c.now.Add(time.Second)
	}
	require.Len(t, s.Query("", "10m").Series, 3)
	s.Forget("9")
	require.Len(t, s.Query("", "10m").Series, 2)
}
