package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

func newTrial(name string, trial int, seconds float64, peak int64) *roundsTrial {
	return &roundsTrial{
		Contender: name, Trial: trial, training: training{Clients: 8, In: inPython, Bytes: 10e6, Rounds: 3},
		Seconds: []float64{seconds, seconds}, CPU: 0.3, ClientsCPU: 1.2, Peak: peak,
	}
}

func TestRecord_markdown_hasMediansAndRatiosOfAllRecords(t *testing.T) {
	dir := t.TempDir()
	one := &record{Head: rig.Head{Date: "2026-01-31T10:00:00Z", Command: "first"}, Cores: 2, Rounds: []*roundsTrial{
		newTrial(ours, 0, 0.5, 100e6), newTrial(theirs, 0, 2, 500e6), newTrial(theirs, 1, 4, 600e6), newTrial(ours, 1, 1, 120e6),
		newTrial(least, 0, 0.4, 50e6), newTrial(least, 1, 0.4, 50e6),
	}}
	two := &record{Head: rig.Head{
		Date: "2026-01-31T11:00:00Z", Command: "second", Problems: []string{"this failed\nfor long reasons"},
	}, Streams: []*streamsTrial{
		{crowd: crowd{Active: 3, Idle: 4, Bytes: 2e6, Rounds: 2}, Seconds: []float64{1.5}, IdlePeak: 200e6, Peak: 1200e6},
	}}
	require.NoError(t, one.write(dir))
	require.NoError(t, two.write(dir))
	records, err := filepath.Glob(filepath.Join(dir, "results", "*.json"))
	require.NoError(t, err)
	require.Len(t, records, 2)

	require.NoError(t, rig.Rewrite(records, (*record).add, (*record).markdown))
	text, err := os.ReadFile(filepath.Join(dir, "RESULTS.md"))
	require.NoError(t, err)
	for _, want := range []string{
		"`first` and `second`",
		"| flcollector | 90.0 (60.0 to 120.0) | 0.75 (0.50 to 1.00) | 0.10 (0.10 to 0.10) | 110 (100 to 120) |",
		"4.0 (4.0 to 4.0) times the rounds of Flower and 20 (20 to 20) % of its memory.",
		"3 times the rounds: met; 25 % of the memory: met.",
		"a round takes 1.88 (1.25 to 2.50) times that of the server that does nothing, and 1.0 (1.0 to 1.0) times its processor",
		"Target: 1.5 times the round: **missed**. The server that does nothing has 7.5 (5.0 to 10.0) times the rounds of Flower.",
		"need 0.20 s a round of all 2 cores, so a server that took no time would be 13.3 times as fast",
		"## 4 idle streams, 3 active ones of 2 MB", "| 200 (200 to 200) | 1200 (1200 to 1200) | 1.50 (1.50 to " +
			"1.50) |", "under 1000 MB: **missed**",
		"- this failed\n",
	} {
		require.Contains(t, string(text), want)
	}
	two.Machine = "another"
	require.NoError(t, two.write(dir))
	require.ErrorContains(t, rig.Rewrite(records, (*record).add, (*record).markdown), "is of another machine")
}

func TestTally_lengths_startWithTheFirstClientOfEachRound(t *testing.T) {
	require.Equal(t, []float64{1, 2}, lengths([][]float64{{10, 11.5, 13}, {10.5, 11, 14}}))

	seen := &tally{}
	seen.add(tally{Rounds: []turn{{Fits: 2, Begin: 3e9}, {}}})
	seen.add(tally{Rounds: []turn{{Fits: 1, Begin: 2e9}, {Fits: 3, Begin: 5e9}}})
	all, err := seen.lengths(2, 3)
	require.NoError(t, err)
	require.Equal(t, []float64{3}, all)
	_, err = seen.lengths(3, 3)
	require.ErrorContains(t, err, "2 rounds, there were 3")
	_, err = seen.lengths(2, 2)
	require.ErrorContains(t, err, "3 clients took part in round 1")
}

func TestReadSizes_wantsMegabytesAndClients(t *testing.T) {
	sizes, err := readSizes("10x8,100x4")
	require.NoError(t, err)
	require.Equal(t, []training{{Clients: 8, Bytes: 10e6, Rounds: 7}, {Clients: 4, Bytes: 100e6, Rounds: 5}}, sizes)
	_, err = readSizes("10x8,100")
	require.ErrorContains(t, err, `"100" is no size`)
}
