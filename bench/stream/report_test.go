package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
)

func TestPaceOf_countsTheMiddleOnly(t *testing.T) {
	begin := time.Now()
	var all []reading
	for i := range 101 { // slow at first, then 10 messages in a millisecond
		at := begin.Add(time.Duration(i) * time.Millisecond)
		if i > 20 {
			at = at.Add(time.Second)
		}
		all = append(all, reading{at: at, done: int64(10 * i), subject: time.Duration(i) * 20 * time.Microsecond})
	}
	p, err := measurePace(all, 1000)
	require.NoError(t, err)
	require.InDelta(t, 10_000, p.Rate, 1)
	require.InDelta(t, 2, p.CPU, 0.001)
}

func TestPaceOf_excludesTransactionMarkers(t *testing.T) {
	begin := time.Now()
	var all []reading
	for i := range 101 {
		all = append(all, reading{at: begin.Add(time.Duration(i) * time.Millisecond), done: int64(20 * i)})
	}
	p, err := measurePace(all, 1000)
	require.NoError(t, err)
	require.InDelta(t, 10_000, p.Rate, 1)
}

func TestPaceOf_refusesASampleThatIsTooShort(t *testing.T) {
	_, err := measurePace([]reading{{at: time.Now(), done: 100}}, 100)
	require.ErrorContains(t, err, "too short")
}

func TestQuantile_isAnUpperBound(t *testing.T) {
	l := annotate.Latency{Bounds: []time.Duration{time.Millisecond, time.Second}, Counts: []uint64{90, 9, 1}, Sum: time.Minute}
	require.Equal(t, time.Millisecond, quantile(l, 0.9))
	require.Equal(t, time.Second, quantile(l, 0.99))
	require.Greater(t, quantile(l, 0.999), time.Second)
}

func TestRecord_markdown_showsMediansRatiosAndFailures(t *testing.T) {
	r := &record{Commit: "abc", Trials: []*trial{
		{Section: "mqtt", Contender: "passthrough", Round: 1, Messages: 1000, pace: pace{Rate: 1000, CPU: 5}},
		{Section: "mqtt", Contender: "passthrough", Round: 2, Messages: 1000, pace: pace{Rate: 3000, CPU: 5}},
		{Section: "mqtt", Contender: "passthrough", Round: 3, Messages: 1000, pace: pace{Rate: 2000, CPU: 5}},
		{Section: "mqtt", Contender: "annotator, N-Triples", Round: 1, Messages: 1000, pace: pace{Rate: 1600, CPU: 8}},
		{Section: "mqtt", Contender: "annotator, Turtle", Round: 1, Error: "nothing comes\nany more"},
	}}
	text := r.markdown()
	require.Contains(t, text, "| passthrough | 1,000 | 2,000/s | 1,000 to 3,000 | 100 % |")
	require.Contains(t, text, "| annotator, N-Triples | 1,000 | 1,600/s | 1,600 to 1,600 | 80 % | 8.0 µs |")
	require.Contains(t, text, "| annotator, Turtle | | failed |")
	require.Contains(t, text, "round 1: nothing comes\n")
	require.NotContains(t, text, "Kafka to Kafka")
}
