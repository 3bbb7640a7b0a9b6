package workload_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/bench/stream/workload"
)

const total = 200

// annotated returns what the mapping makes of each message.
func annotated(t *testing.T) [][]byte {
	t.Helper()
	mapping, err := rml.Load([]byte(workload.Mapping), nil)
	require.NoError(t, err)
	plan, err := rml.Compile(mapping, &rml.Options{Format: rdf.NTriples, Strict: true})
	require.NoError(t, err)
	mapper, w := plan.NewMapper(), workload.NewWeather()
	var all [][]byte
	for n := range total {
		message := w.Message(n)
		require.Len(t, message, workload.Size)
		output, err := mapper.Append(nil, message)
		require.NoError(t, err)
		require.Len(t, output, workload.OutputSize)
		require.Equal(t, workload.Statements, bytes.Count(output, []byte("\n")))
		all = append(all, output)
	}
	return all
}

func enter(payloads [][]byte) *workload.Ledger {
	l := workload.NewLedger(total)
	for _, p := range payloads {
		l.Enter(p)
	}
	return l
}

func TestLedger_acceptsOutputOfTheMapping(t *testing.T) {
	format := rdf.NTriples
	require.NoError(t, enter(annotated(t)).Close(&format))
}

func TestLedger_countsDuplicates(t *testing.T) {
	format := rdf.NTriples
	outputs := annotated(t)
	l := enter(append(outputs, outputs[7]))
	require.NoError(t, l.Close(&format))
	require.Equal(t, 1, l.Duplicates)
}

func TestLedger_Close_refusesALoss(t *testing.T) {
	format := rdf.NTriples
	require.ErrorContains(t, enter(annotated(t)[1:]).Close(&format), "1 are lost")
}

func TestLedger_Close_refusesDisorderWithinAKey(t *testing.T) {
	format := rdf.NTriples
	outputs := annotated(t)
	outputs[3], outputs[3+workload.Stations] = outputs[3+workload.Stations], outputs[3]
	require.ErrorContains(t, enter(outputs).Close(&format), "1 out of order")
}

func TestLedger_Close_refusesOtherStatements(t *testing.T) {
	format := rdf.NTriples
	outputs := annotated(t)
	outputs[0] = bytes.Replace(outputs[0], []byte("#dewPoint"), []byte("#dewpoint"), 1)
	require.ErrorContains(t, enter(outputs).Close(&format), "not what the mapping means")
}

func TestLedger_Close_refusesChangedBytesOfAPassthrough(t *testing.T) {
	var messages [][]byte
	w := workload.NewWeather()
	for n := range total {
		messages = append(messages, bytes.Clone(w.Message(n)))
	}
	require.NoError(t, enter(messages).Close(nil))
	messages[0][400]++
	require.ErrorContains(t, enter(messages).Close(nil), "message 0 came as")
}
