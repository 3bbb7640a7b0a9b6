package annotate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/suggest"
)

func TestWorker_apply_costsNothingWithoutShapes(t *testing.T) {
	message := []byte(`{"id":1,"temperature":3.5,"station":"EWR"}`)
	s, err := suggest.Mapping(message, nil)
	require.NoError(t, err)
	compiled, err := Mapping{InputFormat: JSON, OutputFormat: NTriples, RML: s.Mapping}.compile("", rml.Limits{}, nil)
	require.NoError(t, err)
	mapper := compiled.plan.NewMapper()
	buffer := make([]byte, 0, 4096)
	bare := testing.AllocsPerRun(200, func() {
		_, err = mapper.Append(buffer, message)
	})
	require.NoError(t, err)
	w := &worker{mapping: compiled, mapper: compiled.plan.NewMapper(), buffer: buffer}
	c := &Channel{}
	require.Equal(t, bare, testing.AllocsPerRun(200, func() {
		_, err = w.apply(c, message)
	}))
	require.NoError(t, err)
}
