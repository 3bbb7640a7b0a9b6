package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestResult_ratio_isPeerTimeOverOurs(t *testing.T) {
	ours := &result{Wall: []float64{0.1, 0.5, 0.2}}
	peer := &result{Wall: []float64{9, 2, 4}}
	require.InDelta(t, 20, peer.ratio(ours), 1e-9)

	ours = &result{Wall: []float64{3}, Rate: []float64{1e6}}
	peer = &result{Wall: []float64{3}, Rate: []float64{1e3}}
	require.InDelta(t, 1000, peer.ratio(ours), 1e-9)
}

func TestRecord_markdown_givesNoTimeForAWrongOutput(t *testing.T) {
	r := record{
		Engines: []engineRecord{{Name: "ours"}, {Name: "right"}, {Name: "wrong"}, {Name: "absent", Missing: "no network"}},
		Results: []*result{
			{Group: "batch", Case: "b", Engine: "ours", Status: statusOK, Wall: []float64{0.5}, Expected: 12},
			{Group: "batch", Case: "b", Engine: "right", Status: statusOK, Wall: []float64{5}, RSS: 3 << 20},
			{Group: "batch", Case: "b", Engine: "wrong", Status: statusWrong,
				Reason: "11 distinct statements instead of 12", Wall: []float64{0.77}},
			{Group: "batch", Case: "b", Engine: "absent", Status: statusMissing, Reason: "no network"},
		},
	}
	report := r.markdown()
	require.Contains(t, report, "| b | 12 | 0.5 s, 0 MB | 5 s, 3 MB, **10×** | wrong (1) | not installed (2) |")
	require.Contains(t, report, "1. wrong, b: 11 distinct statements instead of 12")
	require.NotContains(t, report, "0.77")
}

func TestPins_embedEveryPinnedFile(t *testing.T) {
	for _, e := range engines("self", "ours")[1:] {
		require.NotNil(t, e.install, e.name)
	}
	for _, file := range []string{"carml/pom.xml", "carml/Carml.java", "rmlmapper/pom.xml", "rocketrml/package.json",
		"rocketrml/rocket.js", "morphkgc/requirements.txt"} {
		_, err := pins.ReadFile(file)
		require.NoError(t, err)
	}
}

func TestLastLine_returnsTheLineThatNamesTheError(t *testing.T) {
	trace := "starting\nException in thread main: X\n\tat a.b\nCaused by: java.lang.YException: gone\n\tat " +
		"c.d\n\t... 29 more\n"
	require.Equal(t, "Caused by: java.lang.YException: gone", lastLine([]byte(trace)))
	require.Equal(t, "1 2", lastLine([]byte("0 0\n1 2\n\n")))
	require.Empty(t, lastLine(nil))
}
