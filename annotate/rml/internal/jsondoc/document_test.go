package jsondoc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

func TestValuesReadsTheKindsAndTheTextOfAFlatMessage(t *testing.T) {
	c, doc := newDocument(input.Limits{})
	require.NoError(t, doc.Load([]byte(` {"s":"a\nb\u00e9\ud83d\ude00","i":-30,"d":3.50e1,"b":true,"z":null,"o":{"x":[1]},"a":[1,"2"],"e":""} `)))
	for expr, want := range map[string]input.Value{
		"s":      {Kind: input.String, Text: []byte("a\nbé😀")},
		"$.i":    {Kind: input.Integer, Text: []byte("-30")},
		"@.d":    {Kind: input.Double, Text: []byte("3.50e1")},
		"['b']":  {Kind: input.Boolean, Text: []byte("true")},
		"z":      {Kind: input.Null},
		"o":      {Kind: input.Object, Text: []byte(`{"x":[1]}`)},
		"a":      {Kind: input.Array, Text: []byte(`[1,"2"]`)},
		"o.x[0]": {Kind: input.Integer, Text: []byte("1")},
		"e":      {Kind: input.String, Text: []byte{}},
	} {
		p, err := c.CompileReference(expr)
		require.NoError(t, err)
		got, err := doc.Values(nil, doc.Root(), p)
		require.NoError(t, err)
		require.Len(t, got, 1, expr)
		require.Equal(t, want.Kind, got[0].Kind, expr)
		require.Equal(t, want.Text, got[0].Text, expr)
	}
}
