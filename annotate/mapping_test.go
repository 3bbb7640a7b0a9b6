package annotate_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
)

func TestNewChannel_logsFindingsAboutTheMapping(t *testing.T) {
	var logged bytes.Buffer
	env := environment(annotate.NewMemoryBroker(nil))
	env.Logger = slog.New(slog.NewTextHandler(&logged, nil))
	newChannel(t, config("good"), env)
	require.Empty(t, logged.String())

	c := config("odd")
	c.Mapping.RML = strings.Replace(jsonMapping, `rr:template "http://example.com/{id}"`, `rml:reference "id"`, 1)
	newChannel(t, c, env)
	require.Contains(t, logged.String(), "it takes the IRI from the input as it is")
	require.Contains(t, logged.String(), "fails the message", "channels are strict")
	require.Contains(t, logged.String(), "channel=odd")
}

func TestNewChannel_refusesAMappingWithTargets(t *testing.T) {
	c := config("targets")
	c.Mapping.RML = strings.Replace(jsonMapping, `rml:reference "value"`, `rml:reference "value" ;
  <http://w3id.org/rml/logicalTarget> [ <http://w3id.org/rml/target> [ <http://w3id.org/rml/path> "out.nq" ] ]`, 1)
	_, err := annotate.NewChannel(c, environment(annotate.NewMemoryBroker(nil)))
	require.ErrorContains(t, err, `the mapping has a logical target, the file "out.nq"`)
}

func TestMapping_Check_readsTheLanguage(t *testing.T) {
	m := annotate.Mapping{InputFormat: annotate.JSON, OutputFormat: annotate.Turtle, Language: annotate.LanguageYARRRML,
		RML: "mappings:\n  m:\n    sources: [['~jsonpath', $]]\n    s: http://example.com/$(id)\n"}
	require.NoError(t, m.Check())
	for language, want := range map[annotate.MappingLanguage]string{
		annotate.LanguageRML: "metadata.mapping.rml: ",
		"":                   "metadata.mapping.rml: ",
		"R2RML":              `metadata.mapping.language: expected one of RML, YARRRML, got "R2RML"`,
	} {
		m.Language = language
		require.ErrorContains(t, m.Check(), want)
	}
}
