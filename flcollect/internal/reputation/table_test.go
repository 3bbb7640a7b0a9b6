package reputation

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/storage"
)

// score returns the score of a client.
func readScore(t *Table, client string) float64 {
	r, _ := t.Reputation(client)
	return r.Score
}

// standings judges a client in rounds for which it is drawn unless it is suspended, and
// returns how often it was drawn, and how often suspended.
func standings(rounds int, outcome func(round int) Fault) (drawn, suspended int) {
	r := NewTable()
	norm, typical := 1000.0, 1.0
	for round := 1; round <= rounds; round++ {
		if known, _ := r.Reputation("c"); known.Suspended(round) {
			continue
		}
		drawn++
		entry := Part{Client: "c", Fault: outcome(round), Norm: &norm}
		others := Part{Client: "d", Fault: None, Norm: &typical}
		suspended += r.Judge(round, []Part{entry, others})
	}
	return drawn, suspended
}

func TestTable_Judge_suspendsByTheRule(t *testing.T) {
	always := func(o Fault) func(int) Fault { return func(int) Fault { return o } }
	every := func(n int, o Fault) func(int) Fault {
		return func(round int) Fault {
			if round%n == 0 {
				return o
			}
			return None
		}
	}
	drawn, suspended := standings(1000, always(None))
	require.Equal(t, []int{1000, 0}, []int{drawn, suspended})
	drawn, suspended = standings(1000, every(2, Failed))
	require.Equal(t, []int{1000, 0}, []int{drawn, suspended}, "a connection that breaks every second time")
	drawn, suspended = standings(1000, every(2, Clipped))
	require.Equal(t, []int{1000, 0}, []int{drawn, suspended}, "data that are very different now and then")
	drawn, suspended = standings(1000, every(10, Refused))
	require.Equal(t, []int{1000, 0}, []int{drawn, suspended}, "a defect now and then")
	drawn, _ = standings(1000, always(Failed))
	require.Greater(t, drawn, 500, "a client that only fails is never suspended for long")
	drawn, _ = standings(1000, always(Refused))
	require.Less(t, drawn, 40)
	drawn, _ = standings(1000, always(Clipped))
	require.Less(t, drawn, 60)
	drawn, suspended = standings(1000, func(round int) Fault {
		if round <= 100 {
			return Refused
		}
		return None
	})
	require.Greater(t, drawn, 800, "a client without further fault takes part again")
	require.Less(t, suspended, 10)
}

func TestTable_Judge_forgetsAClientWithoutFault(t *testing.T) {
	r := NewTable()
	r.Judge(1, []Part{{Client: "c", Fault: Failed}})
	require.InDelta(t, 0.4, readScore(r, "c"), 1e-9)
	for round := 2; round < 30; round++ {
		r.Judge(round, []Part{{Client: "c", Fault: None}})
	}
	require.Empty(t, r.clients)
}

func TestTable_Judge_ignoresABoundThatCutsMost(t *testing.T) {
	r := NewTable()
	for round := range 50 {
		var entries []Part
		for i := range 5 {
			norm := 1 + float64(i)/4
			entries = append(entries, Part{Client: fmt.Sprint(i), Fault: Clipped, Norm: &norm})
		}
		require.Zero(t, r.Judge(round, entries))
	}
	require.Empty(t, r.clients)
}

func TestTable_Judge_takesTheWorstOfSeveralSessions(t *testing.T) {
	r := NewTable()
	entries := []Part{{Client: "c", Fault: None}, {Client: "c", Fault: Refused, Reason: "refused: why"}, {Client: "c", Fault: Failed}}
	r.Judge(1, entries)
	require.InDelta(t, 1, readScore(r, "c"), 1e-9)
	known, ok := r.Reputation("c")
	require.True(t, ok)
	require.Equal(t, "refused: why", known.Reason)
}

func TestTable_Judge_boundsTheClients(t *testing.T) {
	r := NewTable()
	entries := []Part{{Client: "worst", Fault: Refused}}
	for i := range maxClients + 100 {
		entries = append(entries, Part{Client: fmt.Sprintf("session:%05d", i), Fault: Failed})
	}
	r.Judge(1, entries)
	require.Len(t, r.clients, maxClients)
	require.Contains(t, r.clients, "worst")
}

func TestTable_Load_ignoresARoundThatDoesNotCount(t *testing.T) {
	store := persist.Store{Documents: storage.NewMemoryDocuments()}
	load := func(round int) *Table {
		r := NewTable()
		require.NoError(t, r.Load(t.Context(), store, "token", round))
		return r
	}
	judge := func(r *Table, round int, fault Fault) {
		r.Judge(round, []Part{{Client: "c", Fault: fault}})
		require.NoError(t, r.Save(t.Context(), store, "token", round, r.State()))
	}
	r := load(0)
	judge(r, 1, Refused)
	judge(r, 2, None)
	judge(r, 3, Failed) // and then the server is killed
	require.InDelta(t, 0.8*0.8+0.4, readScore(load(3), "c"), 1e-9)
	again := load(2)
	require.InDelta(t, 0.8, readScore(again, "c"), 1e-9)
	require.NoError(t, again.Save(t.Context(), store, "token", 3, again.State()), "a round without a cost for the client")
	require.InDelta(t, 0.8, readScore(load(5), "c"), 1e-9)
}

func TestTable_State_hasNothingOfLaterRounds(t *testing.T) {
	store := persist.Store{Documents: storage.NewMemoryDocuments()}
	r := NewTable()
	states := []State{}
	for round := 1; round <= 3; round++ {
		r.Judge(round, []Part{{Client: "c", Fault: Failed}})
		states = append(states, r.State())
	}
	for i, score := range []float64{0.4, 0.4*0.8 + 0.4} {
		require.NoError(t, r.Save(t.Context(), store, "token", i+1, states[i]))
		again := NewTable()
		require.NoError(t, again.Load(t.Context(), store, "token", i+1))
		require.InDelta(t, score, readScore(again, "c"), 1e-9)
	}
}

func TestTypicalNorm_isZeroWithoutNorms(t *testing.T) {
	require.Zero(t, typicalNorm(nil))
}
