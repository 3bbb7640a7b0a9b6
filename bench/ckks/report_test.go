package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

func newTrial(side string, round int, seconds float64, megabytes int64) *trial {
	return &trial{Side: side, Round: round, Load: 2, measure: measure{Seconds: seconds, CPU: 2 * seconds,
		Peak: megabytes * 1e6, Size: 5e6}, Error: 2e-9 * float64(1+round)}
}

func TestRecord_markdown_hasMediansAndRatiosOfAllRecords(t *testing.T) {
	dir := t.TempDir()
	one := &record{Head: rig.Head{Date: "2026-01-31T10:00:00Z", Command: "first"}, Clients: 8, Ciphertexts: 245, Trials: []*trial{
		newTrial(ours, 0, 1, 100), newTrial(collected, 0, 4, 1000), newTrial(folded, 0, 2, 300),
		newTrial(ours, 1, 3, 120), newTrial(collected, 1, 6, 1000), newTrial(folded, 1, 2, 300),
	}}
	two := &record{Head: rig.Head{
		Date: "2026-01-31T11:00:00Z", Command: "second", Problems: []string{"this failed\nfor long reasons"},
	}, Clients: 8, Ciphertexts: 245,
		Trials: []*trial{newTrial(ours, 0, 2, 110), newTrial(collected, 0, 10, 1000), newTrial(folded, 0, 1, 300)}}
	require.NoError(t, one.write(dir))
	require.NoError(t, two.write(dir))
	records, err := filepath.Glob(filepath.Join(dir, "results", "*.json"))
	require.NoError(t, err)
	require.Len(t, records, 2)

	require.NoError(t, rig.Rewrite(records, (*record).add, (*record).markdown))
	text, err := os.ReadFile(filepath.Join(dir, "RESULTS.md"))
	require.NoError(t, err)
	for _, want := range []string{
		"8 clients, 1,003,520 parameters in 245 ciphertexts each", "`first` and `second`", "- this failed\n",
		"| flcollect/ckks | 2.00 (1.00 to 3.00) | 4.00 (2.00 to 6.00) | 110 (100 to 120) | 5.0 | 4e-09 |",
		"25 (20 to 50) % of the time, 25 (20 to 50) % of the processor time and 11.0 (10.0 to 12.0) % of the " +
			"memory of TenSEAL, all updates at once. Targets: less time: met; 25 % of the memory: met.",
		"150 (50 to 200) % of the time, 150 (50 to 200) % of the processor time and 36.7 (33.3 to 40.0) % of the " +
			"memory of TenSEAL, one by one. Targets: less time: **missed**; 25 % of the memory: **missed**.",
	} {
		require.Contains(t, string(text), want)
	}
	two.Clients = 9
	require.NoError(t, two.write(dir))
	require.ErrorContains(t, rig.Rewrite(records, (*record).add, (*record).markdown), "is of other updates")
	two.Machine = "another"
	require.NoError(t, two.write(dir))
	require.ErrorContains(t, rig.Rewrite(records, (*record).add, (*record).markdown), "is of another machine")
}
