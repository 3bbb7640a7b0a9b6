package annotate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
)

func TestChannel_SetMapping_mapsEveryMessageOnce(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	c := config("hot")
	c.Parallelism = 4
	channel := newChannel(t, c, environment(b))
	require.NoError(t, channel.Start(t.Context()))
	old := channel.Config().Mapping
	next := old
	next.RML = strings.ReplaceAll(old.RML, "<http://example.com/value>", "<http://example.com/newer>")
	const n = 3000
	for i := range n {
		publish(t, b, "hot/in", i, i+1)
		if i == n/2 {
			await(t, b, "hot/out", n/10)
			require.NoError(t, channel.SetMapping(next))
			require.Equal(t, next, channel.Config().Mapping)
		}
	}
	out := await(t, b, "hot/out", n)
	require.Eventually(t, unacknowledged(b, channel), patience, time.Millisecond)
	require.Len(t, b.Messages("hot/out"), n)
	changed := 0
	for i, text := range out {
		require.Contains(t, text, fmt.Sprintf("<http://example.com/%d> ", i))
		if strings.Contains(text, "newer") {
			changed++
		} else {
			require.Zero(t, changed, "message %d was mapped by the old mapping after one was by the new", i)
		}
	}
	require.GreaterOrEqual(t, changed, n/2-1)
	require.Less(t, changed, n)
}

func TestChannel_SetMapping_keepsTheOldMappingOnErrors(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	channel := newChannel(t, config("stays"), environment(b))
	require.NoError(t, channel.Start(t.Context()))
	old := channel.Config().Mapping
	bad := old
	bad.RML = "not a mapping"
	var field *annotate.FieldError
	require.ErrorAs(t, channel.SetMapping(bad), &field)
	require.Equal(t, "metadata.mapping.rml", field.Field)
	bad = old
	bad.InputFormat = annotate.CSV
	require.ErrorIs(t, channel.SetMapping(bad), annotate.ErrMapping)
	require.Equal(t, old, channel.Config().Mapping)
	publish(t, b, "stays/in", 0, 1)
	require.Equal(t, triples(0, 1), await(t, b, "stays/out", 1))
}
