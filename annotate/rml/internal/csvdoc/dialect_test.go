package csvdoc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/csvdoc"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

func TestDialect_Validate_namesTheWrongField(t *testing.T) {
	for want, d := range map[string]csvdoc.Dialect{
		`dialect delimiter '\n': must be an ASCII character`:         {Delimiter: '\n'},
		`dialect quote 'é': must be an ASCII character`:              {Quote: 0xE9},
		`dialect quote ',': is the delimiter already`:                {Quote: ','},
		`dialect escape '"': is the quote already`:                   {Escape: '"'},
		`dialect comment ';': is the delimiter already`:              {Comment: ';', Delimiter: ';'},
		`dialect escape: has no meaning without quotes`:              {Escape: '\\', NoQuotes: true},
		`dialect trim: the delimiter or the quote is a space`:        {Delimiter: ' ', Trim: csvdoc.TrimEnd},
		`dialect skip rows -1: must not be negative`:                 {SkipRows: -1},
		`dialect header rows -1: must not be negative`:               {HeaderRows: -1},
		`dialect columns: may only be given when there is no header`: {Columns: []string{"a"}},
		`dialect trim 9: must be one of the four constants`:          {Trim: 9},
		`dialect blank 9: must be one of the three constants`:        {Blank: 9},
	} {
		require.ErrorContains(t, d.Validate(), want)
		c := csvdoc.New(d, input.Limits{})
		_, err := c.CompileIterator("")
		require.ErrorContains(t, err, want)
		_, err = c.CompileReference("a")
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, c.NewDocument().Load([]byte("a\n1")), want)
	}
	for _, d := range []csvdoc.Dialect{
		{},
		{Delimiter: '\t'},
		{Quote: '\'', Escape: '\\', Comment: '#'},
		{NoQuotes: true, Delimiter: '"'},
	} {
		require.NoError(t, d.Validate())
	}
}
