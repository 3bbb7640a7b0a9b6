package flcollect

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
)

// standings has a client live through rounds in which it is drawn unless it is
// suspended, and returns how often it was, and how often suspended.
func standings(rounds int, outcome func(round int) Outcome) (drawn, suspended int) {
	r := newReputations()
	norm, typical := 1000.0, 1.0
	for round := 1; round <= rounds; round++ {
		if r.of("c").Suspended(round) {
			continue
		}
		drawn++
		entry := ClientReport{Client: "c", Outcome: outcome(round), Norm: &norm}
		others := ClientReport{Client: "d", Outcome: Kept, Norm: &typical}
		suspended += r.judge(round, []ClientReport{entry, others})
	}
	return drawn, suspended
}

func TestTheRuleOfReputation(t *testing.T) {
	always := func(o Outcome) func(int) Outcome { return func(int) Outcome { return o } }
	every := func(n int, o Outcome) func(int) Outcome {
		return func(round int) Outcome {
			if round%n == 0 {
				return o
			}
			return Kept
		}
	}
	drawn, suspended := standings(1000, always(Kept))
	require.Equal(t, []int{1000, 0}, []int{drawn, suspended})
	drawn, suspended = standings(1000, every(2, Failed))
	require.Equal(t, []int{1000, 0}, []int{drawn, suspended}, "a connection that breaks every second time")
	drawn, suspended = standings(1000, every(2, Clipped))
	require.Equal(t, []int{1000, 0}, []int{drawn, suspended}, "data that are very different now and then")
	drawn, suspended = standings(1000, every(10, Refused))
	require.Equal(t, []int{1000, 0}, []int{drawn, suspended}, "a defect now and then")
	drawn, _ = standings(1000, always(Failed))
	require.Greater(t, drawn, 500, "who only fails is never away for long")
	drawn, _ = standings(1000, always(Refused))
	require.Less(t, drawn, 40)
	drawn, _ = standings(1000, always(Clipped))
	require.Less(t, drawn, 60)
	drawn, suspended = standings(1000, func(round int) Outcome {
		if round <= 100 {
			return Refused
		}
		return Kept
	})
	require.Greater(t, drawn, 800, "who mends its ways is back")
	require.Less(t, suspended, 10)
}

func TestAClientThatIsForgivenIsForgotten(t *testing.T) {
	r := newReputations()
	r.judge(1, []ClientReport{{Client: "c", Outcome: Failed}})
	require.InDelta(t, 0.4, r.of("c").Score, 1e-9)
	for round := 2; round < 30; round++ {
		r.judge(round, []ClientReport{{Client: "c", Outcome: Kept}})
	}
	require.Empty(t, r.known)
}

func TestABoundThatMostFeelIsNobodysFault(t *testing.T) {
	r := newReputations()
	for round := range 50 {
		var entries []ClientReport
		for i := range 5 {
			norm := 1 + float64(i)/4
			entries = append(entries, ClientReport{Client: fmt.Sprint(i), Outcome: Clipped, Norm: &norm})
		}
		require.Zero(t, r.judge(round, entries))
	}
	require.Empty(t, r.known)
}

func TestTheWorstOfSeveralSessionsCounts(t *testing.T) {
	r := newReputations()
	entries := []ClientReport{{Client: "c", Outcome: Kept}, {Client: "c", Outcome: Refused, Reason: "why"}, {Client: "c", Outcome: Failed}}
	r.judge(1, entries)
	require.InDelta(t, 1, r.of("c").Score, 1e-9)
	require.Equal(t, "refused: why", r.of("c").Reason)
	require.InDelta(t, 1, entries[0].Reputation.Score, 1e-9)
}

func TestReputationsAreBounded(t *testing.T) {
	r := newReputations()
	entries := []ClientReport{{Client: "worst", Outcome: Refused}}
	for i := range maxReputations + 100 {
		entries = append(entries, ClientReport{Client: fmt.Sprintf("session:%05d", i), Outcome: Failed})
	}
	r.judge(1, entries)
	require.Len(t, r.known, maxReputations)
	require.Contains(t, r.known, "worst")
}

func TestReputationsOfARoundThatDoesNotCountAreNotRecalled(t *testing.T) {
	s, err := NewServer(Options{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
	require.NoError(t, err)
	load := func(round int) *reputations {
		r, err := s.loadReputations(t.Context(), "token", round)
		require.NoError(t, err)
		return r
	}
	judge := func(r *reputations, round int, outcome Outcome) {
		r.judge(round, []ClientReport{{Client: "c", Outcome: outcome}})
		require.NoError(t, s.storeReputations(t.Context(), "token", round, r))
	}
	r := load(0)
	judge(r, 1, Refused)
	judge(r, 2, Kept)
	judge(r, 3, Failed) // and then the server dies
	require.InDelta(t, 0.8*0.8+0.4, load(3).of("c").Score, 1e-9)
	again := load(2)
	require.InDelta(t, 0.8, again.of("c").Score, 1e-9)
	require.NoError(t, s.storeReputations(t.Context(), "token", 3, again), "a round in which nothing happens to the client")
	require.InDelta(t, 0.8, load(5).of("c").Score, 1e-9)
}

func TestNamesOfClientsAreVisibleAndBounded(t *testing.T) {
	require.Equal(t, "client-1 ü", visible("client-1 ü"))
	for _, name := range []string{"a\nb", "\xff", string(make([]byte, 1000)), "a\u202eb"} {
		require.Regexp(t, "^sha256:[0-9a-f]{64}$", visible(name))
	}
	require.Zero(t, typicalNorm(nil))
	require.Nil(t, measured(math.NaN()))
	require.Nil(t, measured(math.Inf(1)))
}
