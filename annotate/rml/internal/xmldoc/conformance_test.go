package xmldoc_test

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/xmldoc"
	"github.com/iotenablers/enablers/internal/conformance"
)

// Terms of the mappings of the suites, found without reading Turtle.
var (
	iteratorTerm  = regexp.MustCompile(`iterator +"([^"]*)"`)
	referenceTerm = regexp.MustCompile(`(?:reference|parent|child) +"([^"]*)"`)
	templateTerm  = regexp.MustCompile(`template +"([^"]*)"`)
	templateName  = regexp.MustCompile(`\{([^{}\\]+)\}`)
)

func TestDocument_readsEveryFileOfTheSuites(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(conformance.Dir(t, ""), "rml-*", "*", "*.xml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		mapping, err := os.ReadFile(filepath.Join(filepath.Dir(file), "mapping.ttl"))
		require.NoError(t, err)
		c := xmldoc.New(nil, input.Limits{})
		var iterators, references []input.Path
		for _, m := range iteratorTerm.FindAllStringSubmatch(string(mapping), -1) {
			it, err := c.CompileIterator(m[1])
			require.NoError(t, err, file)
			iterators = append(iterators, it)
		}
		expressions := [][]string{}
		for _, m := range templateTerm.FindAllStringSubmatch(string(mapping), -1) {
			expressions = append(expressions, templateName.FindAllStringSubmatch(m[1], -1)...)
		}
		for _, m := range append(expressions, referenceTerm.FindAllStringSubmatch(string(mapping), -1)...) {
			ref, err := c.CompileReference(m[1])
			require.NoError(t, err, file)
			require.True(t, xmldoc.Plain(ref), m[1])
			references = append(references, ref)
		}
		require.NotEmpty(t, iterators, file)
		doc := c.NewDocument()
		require.NoError(t, doc.Load(data), file)
		require.Equal(t, allText(t, data), doc.(*xmldoc.Document).Text(), file)
		for _, it := range iterators {
			records, err := doc.Records(nil, it)
			require.NoError(t, err)
			for _, r := range records {
				for _, ref := range references {
					_, err := doc.Values(nil, r, ref)
					require.NoError(t, err, file)
				}
			}
		}
	}
}

// allText returns the character data of a document as encoding/xml reads it.
func allText(t *testing.T, data []byte) string {
	t.Helper()
	text, err := decodedText(data)
	require.NoError(t, err)
	return text
}

// decodedText is allText with the error.
func decodedText(data []byte) (string, error) {
	var text strings.Builder
	decoder := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(string(data), "\xEF\xBB\xBF")))
	depth := 0
	for {
		token, err := decoder.Token()
		if token == nil {
			if err.Error() == "EOF" {
				err = nil
			}
			return text.String(), err
		}
		switch token := token.(type) {
		case xml.StartElement:
			depth++
			for _, a := range token.Attr {
				if a.Name.Space != "xmlns" && a.Name.Local != "xmlns" {
					text.WriteString("[" + a.Value + "]")
				}
			}
		case xml.EndElement:
			depth--
		case xml.CharData:
			if depth > 0 {
				text.Write(token)
			}
		}
	}
}
