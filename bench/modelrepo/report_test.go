package main

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

func newTrial(name string, round int, upload float64) *largeTrial {
	return &largeTrial{
		Contender: name, Round: round, Bytes: 1e9, MD5: 500, SHA256: 1000, Upload: upload, Peak: 20e6,
		Download: []float64{10 * upload}, Sendfile: float64(round) - 1,
	}
}

func TestRecord_markdown_hasMediansAndRatiosOfAllRecords(t *testing.T) {
	dir := t.TempDir()
	one := &record{Head: rig.Head{Date: "2026-01-31T10:00:00Z", Command: "first"}, Large: []*largeTrial{
		newTrial("modelrepo", 0, 100), newTrial("registry", 0, 200), newTrial("modelrepo", 1, 300),
	}}
	two := &record{Head: rig.Head{
		Date: "2026-01-31T11:00:00Z", Command: "second", Problems: []string{"this failed\nfor long reasons"},
	}, Large: []*largeTrial{newTrial("modelrepo", 0, 400)},
		Pages: []*pagesTrial{{Models: 7, Pages: []pageTimes{{Page: 3, Median: 1.5}}}}}
	require.NoError(t, one.write(dir))
	require.NoError(t, two.write(dir))
	records, err := filepath.Glob(filepath.Join(dir, "results", "*.json"))
	require.NoError(t, err)
	require.Len(t, records, 2)

	require.NoError(t, rig.Rewrite(records, (*record).add, (*record).markdown))
	text, err := os.ReadFile(filepath.Join(dir, "RESULTS.md"))
	require.NoError(t, err)
	for _, want := range []string{
		"| modelrepo | 300 (100 to 400) | 60 (20 to 80) % |", "| 3000 (1000 to 4000) | 150 % |", "| registry | 200 (200 to 200) |",
		"`first` and `second`", "## Pages of 7 models", "| 3 | 1.50 |", "- this failed\n",
	} {
		require.Contains(t, string(text), want)
	}
	two.Machine = "another"
	require.NoError(t, two.write(dir))
	require.ErrorContains(t, rig.Rewrite(records, (*record).add, (*record).markdown), "is of another machine")
}

func TestTheGeneratorKnowsWhatItMade(t *testing.T) {
	const size = 3<<20 + 17
	g := newGenerator(size)
	data, err := io.ReadAll(g)
	require.NoError(t, err)
	require.Len(t, data, size)
	sum := sha256.Sum256(data)
	require.Equal(t, hex.EncodeToString(sum[:]), hex.EncodeToString(g.sum.Sum(nil)))
	require.NotEqual(t, data[:1<<20], data[1<<20:2<<20])
}
