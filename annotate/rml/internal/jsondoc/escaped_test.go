package jsondoc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/jsondoc"
)

// The elements after a string with escapes have none themselves.
func TestDocument_Elements_afterAStringWithEscapes(t *testing.T) {
	d := jsondoc.New(input.Limits{}).NewDocument().(*jsondoc.Document)
	require.NoError(t, d.Load([]byte(`{"l":["a\nb",1,"c",1.5,true,"d\\e"]}`)))
	var texts []string
	for _, v := range d.Elements(nil, 1) {
		texts = append(texts, string(v.Text))
	}
	require.Equal(t, []string{"a\nb", "1", "c", "1.5", "true", `d\e`}, texts)
}
