package annotate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/suggest"
)

func tried(t *testing.T, sample, message string, limits rml.Limits) (annotate.Trial, error) {
	t.Helper()
	s, err := suggest.Mapping([]byte(sample), nil)
	require.NoError(t, err)
	m := annotate.Mapping{InputFormat: annotate.InputFormat(s.Format), OutputFormat: annotate.Turtle, RML: s.Mapping}
	return m.Try(t.Context(), []byte(message), "", limits)
}

func TestMapping_Try_saysWhatComesOfAMessage(t *testing.T) {
	trial, err := tried(t, `{"id":"a","temp":1.5}`, `{"id":"b","temp":2}`, rml.Limits{})
	require.NoError(t, err)
	require.Contains(t, string(trial.Output), "ex:temp")
	require.Len(t, trial.Statements, 3)
	require.Equal(t, 1, trial.Records)
	require.Empty(t, trial.Unmatched)
	for _, made := range trial.Statements {
		require.Positive(t, made.Line)
	}
}

func TestMapping_Try_saysThatNothingIsSelected(t *testing.T) {
	trial, err := tried(t, `{"readings":[{"id":"a"}]}`, `{"id":"a"}`, rml.Limits{})
	require.NoError(t, err)
	require.Empty(t, trial.Statements)
	require.Len(t, trial.Unmatched, 1)
	require.NotEmpty(t, trial.Findings)
}

func TestMapping_Try_distinguishesItsErrors(t *testing.T) {
	m := annotate.Mapping{InputFormat: annotate.JSON, OutputFormat: annotate.Turtle, RML: "@prefix"}
	_, err := m.Try(t.Context(), nil, "", rml.Limits{})
	var wrong *rml.MappingError
	require.ErrorAs(t, err, &wrong)
	var syntax *rdf.SyntaxError
	require.ErrorAs(t, err, &syntax)
	require.Equal(t, 1, syntax.Line)
	_, err = tried(t, `{"id":"a"}`, `{"id":`, rml.Limits{})
	var failed *rml.MessageError
	require.ErrorAs(t, err, &failed)
	_, err = tried(t, `{"id":"a"}`, `{"id":"a"}`, rml.Limits{MaxStatements: 1})
	require.ErrorIs(t, err, rml.ErrLimit)
	s, err := suggest.Mapping([]byte("a,b\n1,2\n"), nil)
	require.NoError(t, err)
	m.RML = s.Mapping
	_, err = m.Try(t.Context(), nil, "", rml.Limits{})
	require.ErrorIs(t, err, annotate.ErrMapping)
}
