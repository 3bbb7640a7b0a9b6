package upstream_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/upstream"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

func sample() upstream.Summary {
	return upstream.Summary{
		Reports: []strategy.Report{
			{Client: "a", Examples: 1, Metrics: map[string]any{"x": 0.5, "n": int64(-3), "u": uint64(1 << 63), "t": true, "f": false}},
			{Client: "a", Path: "edge/other", Examples: strategy.MaxExamples, Metrics: map[string]any{"x": math.Inf(1), "s": "", "b": []byte(nil)}},
			{Client: "c", Path: "edge/other", Examples: 7},
		},
		Losses:   []float64{1, -2.5, 0},
		Counts:   upstream.Counts{Clients: 5, Failures: 2, Far: 1, Refused: 1},
		Refusals: []upstream.Refusal{{Client: "edge/d", Reason: "it is NaN"}},
	}
}

func TestDecode_readsWhatWasEncoded(t *testing.T) {
	for _, s := range []upstream.Summary{{}, sample()} {
		got, err := upstream.Decode(s.Encode())
		require.NoError(t, err)
		require.Equal(t, s, got)
	}
	require.Equal(t, uint64(strategy.MaxExamples+8), sample().Examples())
}

func TestDecode_refusesWhatCannotBe(t *testing.T) {
	whole := sample().Encode()
	for n := range whole {
		_, err := upstream.Decode(whole[:n])
		require.ErrorIs(t, err, upstream.ErrSummary, "the first %d bytes", n)
	}
	change := func(change func(*upstream.Summary)) []byte {
		s := sample()
		change(&s)
		return s.Encode()
	}
	for want, data := range map[string][]byte{
		"1 bytes after its end":   append(sample().Encode(), 0),
		"it is of version 2":      {2},
		`client "c" is there`:     change(func(s *upstream.Summary) { s.Reports[1].Client, s.Reports[1].Path = "c", "edge/other" }),
		`num_examples of "c" is`:  change(func(s *upstream.Summary) { s.Reports[2].Examples = 0 }),
		"greater than 1099511627": change(func(s *upstream.Summary) { s.Reports[2].Examples++; s.Reports[2].Examples <<= 40 }),
		"a loss is NaN":           change(func(s *upstream.Summary) { s.Losses[0] = math.NaN() }),
		"1 losses of 3 clients":   change(func(s *upstream.Summary) { s.Losses = s.Losses[:1] }),
	} {
		_, err := upstream.Decode(data)
		require.ErrorContains(t, err, want)
	}
}

func TestDecode_boundsTheMemory(t *testing.T) {
	texts := append([]byte{1, 0, 0, 0, 0}, binary.AppendUvarint(nil, 20<<20)...)
	texts = append(texts, make([]byte, 20<<20)...) // of no bytes
	var metrics upstream.Summary
	many, few := manyMetrics(100), manyMetrics(10)
	for i := range 40_000 {
		metrics.Reports = append(metrics.Reports, strategy.Report{Client: strconv.Itoa(i), Examples: 1, Metrics: many})
	}
	for _, data := range [][]byte{texts, metrics.Encode()} {
		_, err := upstream.Decode(data)
		require.ErrorIs(t, err, upstream.ErrSummary)
		require.ErrorContains(t, err, strconv.Itoa(128<<20))
	}
	honest := upstream.Summary{Counts: upstream.Counts{Clients: 100_000}}
	for i := range 100_000 {
		honest.Reports = append(honest.Reports, strategy.Report{
			Client: fmt.Sprint("ipv4:192.0.2.1:", i), Path: "edge", Examples: 1, Metrics: few,
		})
	}
	got, err := upstream.Decode(honest.Encode())
	require.NoError(t, err)
	require.Len(t, got.Reports, 100_000)
}

func manyMetrics(n int) map[string]any {
	made := map[string]any{}
	for i := range n {
		made[fmt.Sprint("metric ", i)] = true
	}
	return made
}

func TestSummary_Encode_cutsLongNames(t *testing.T) {
	long := strings.Repeat("a", 2000)
	var s upstream.Summary
	for _, end := range []string{"b", "c"} {
		s.Reports = append(s.Reports, strategy.Report{Client: long + end, Path: long + end, Examples: 1})
	}
	got, err := upstream.Decode(s.Encode())
	require.NoError(t, err)
	require.NotEqual(t, got.Reports[0].Client, got.Reports[1].Client)
	require.NotEqual(t, got.Reports[0].Path, got.Reports[1].Path)
}

func TestSummary_Encode_keepsRefusalsReadable(t *testing.T) {
	long := strings.Repeat("ä", 1000)
	refused := []upstream.Refusal{{Client: long, Reason: long}, {Client: "c", Reason: "it is \x85"}}
	s, err := upstream.Decode(upstream.Summary{Refusals: refused}.Encode())
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(s.Refusals[0].Reason, "ää") && strings.HasSuffix(s.Refusals[0].Reason, "ä…"), s.Refusals[0].Reason)
	require.Equal(t, "it is \uFFFD", s.Refusals[1].Reason)

	sent := upstream.Summary{Refusals: []upstream.Refusal{{Client: "c", Reason: "it is NaN"}}}.Encode()
	sent[bytes.Index(sent, []byte("NaN"))] = 0x85
	s, err = upstream.Decode(sent)
	require.NoError(t, err)
	require.Equal(t, "it is ?aN", s.Refusals[0].Reason)
	again, err := upstream.Decode(s.Encode())
	require.NoError(t, err)
	require.Equal(t, s, again)
}

func FuzzDecode(f *testing.F) {
	f.Add(sample().Encode())
	f.Add(upstream.Summary{}.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := upstream.Decode(data)
		if err != nil {
			return
		}
		require.LessOrEqual(t, 4*len(s.Reports), len(data))
		again, err := upstream.Decode(s.Encode())
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(s), fmt.Sprint(again)) // NaN is not equal to itself
	})
}

func TestMarked_isFalseForAnyOtherSender(t *testing.T) {
	given := flower.Config{"proximal_mu": 0.5}
	round, rest, ok := upstream.Marked(upstream.Mark(given, 3))
	require.True(t, ok)
	require.Equal(t, 3, round)
	require.Equal(t, given, rest)
	for _, config := range []flower.Config{nil, given, {"enablers-round": int64(3)}, upstream.Mark(nil, 0), upstream.Mark(nil, 1<<30)} {
		_, _, ok := upstream.Marked(config)
		require.False(t, ok)
	}
}

func TestAnnouncedJob_returnsWhatWasAnnounced(t *testing.T) {
	peer := func(header map[string]string) flower.Peer {
		return flower.Peer{Header: func(key string) string { return header[key] }}
	}
	require.Equal(t, "job ä/7", upstream.AnnouncedJob(peer(upstream.Announce("job ä/7"))))
	require.Empty(t, upstream.AnnouncedJob(peer(nil)))
	require.Empty(t, upstream.AnnouncedJob(peer(map[string]string{"collector-edge-job": "?"})))
	require.Empty(t, upstream.AnnouncedJob(flower.Peer{}))
}
