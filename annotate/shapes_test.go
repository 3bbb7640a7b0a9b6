package annotate_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/rml"
)

// valueShapes want a short value and warn of one that does not begin with v.
const valueShapes = `
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix ex: <http://example.com/> .
ex:Observation a sh:NodeShape ; sh:targetSubjectsOf ex:value ;
  sh:property [ sh:path ex:value ; sh:maxLength 4 ; sh:message "the value is too long" ] ;
  sh:property [ sh:path ex:value ; sh:pattern "^v" ; sh:severity sh:Warning ] .
`

func shapedConfig(id string) annotate.ChannelConfig {
	c := withSideTopics(config(id))
	c.Mapping.Shapes = valueShapes
	return c
}

func TestChannel_shapes_keepInvalidOutputsBack(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	channel := newChannel(t, shapedConfig("shaped"), environment(b))
	require.NoError(t, channel.Start(t.Context()))
	for _, payload := range []string{`{"id":1,"value":"v1"}`, `{"id":2,"value":"v-too-long"}`, `{"id":3,"value":"x"}`, `{"id":4}`} {
		require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: "shaped/in", Payload: []byte(payload)}))
	}
	require.Equal(t, []string{triple(1), "<http://example.com/3> <http://example.com/value> \"x\" .\n", ""}, await(t, b, "shaped/out", 3))
	reports := await(t, b, "shaped/errors", 1)
	require.Equal(t, `Failure(annotate.ShapeError: the output violates the shapes: <http://example.com/2> `+
		`<http://example.com/value>: the value is too long, value "v-too-long" (shape on line 5))`, reports[0])
	require.NoError(t, channel.Stop(t.Context()))

	stats := channel.Stats()
	require.Equal(t, []uint64{4, 3, 1, 1, 1, 1},
		[]uint64{stats.Received, stats.Published, stats.Failed, stats.Invalid, stats.Warned, stats.Empty})
	failures := channel.Failures()
	require.Len(t, failures, 1)
	require.Equal(t, "shape on line 5", failures[0].Node)
	require.Contains(t, failures[0].Reason, "the value is too long")
	require.Equal(t, `{"id":2,"value":"v-too-long"}`, string(failures[0].Payload))
}

func TestChannel_shapes_areReplacedWithTheMapping(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	channel := newChannel(t, shapedConfig("swap"), environment(b))
	require.NoError(t, channel.Start(t.Context()))
	m := channel.Config().Mapping
	m.Shapes = ""
	require.NoError(t, channel.SetMapping(m))
	require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: "swap/in", Payload: []byte(`{"id":2,"value":"v-too-long"}`)}))
	require.Contains(t, await(t, b, "swap/out", 1)[0], "v-too-long")
	m.Shapes = valueShapes + "ex:Other sh:minCount 1 ."
	require.ErrorContains(t, channel.SetMapping(m), "line 7: shape <http://example.com/Other>: sh:minCount needs a property shape")
}

func TestChannel_shapes_giveErrorsInJSON(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	c := shapedConfig("objects")
	c.ErrorFormat = annotate.ErrorJSON
	c.Mapping.Shapes = valueShapes + "ex:Named sh:targetSubjectsOf ex:value ; sh:nodeKind sh:BlankNode ."
	channel := newChannel(t, c, environment(b))
	require.NoError(t, channel.Start(t.Context()))
	require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: "objects/in", Payload: []byte(`{"id":2,"value":"v-too-long"}`)}))
	var report struct{ Violations []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(await(t, b, "objects/errors", 1)[0]), &report))
	const sh, ex = "http://www.w3.org/ns/shacl#", "http://example.com/"
	require.Equal(t, []map[string]any{
		{"focus": "<" + ex + "2>", "path": "<" + ex + "value>", "value": `"v-too-long"`, "message": "the value is too long",
			"line": 5.0, "component": sh + "MaxLengthConstraintComponent"},
		{"focus": "<" + ex + "2>", "value": "<" + ex + "2>", "message": "the value is not of the kind sh:BlankNode",
			"shape": ex + "Named", "line": 7.0, "component": sh + "NodeKindConstraintComponent"},
	}, report.Violations)
}

func TestChannel_shapes_countAllViolationsAndNameSome(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	c := shapedConfig("many")
	channel := newChannel(t, c, environment(b))
	require.NoError(t, channel.Start(t.Context()))
	values := `"` + strings.Repeat(`too-long-a","`, 1) + `too-long-b","too-long-c","too-long-d","too-long-e"`
	require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: "many/in", Payload: []byte(`{"id":2,"value":[` + values + `]}`)}))
	report := await(t, b, "many/errors", 1)[0]
	require.Equal(t, 3, strings.Count(report, "the value is too long"), report)
	require.Contains(t, report, "; 2 more)")
}

// What a channel with shapes publishes is what one without them does.
func TestChannel_shapes_changeNoOutput(t *testing.T) {
	for _, format := range annotate.OutputFormats() {
		b := annotate.NewMemoryBroker(nil)
		var outputs [2]string
		for i, shapes := range []string{"", valueShapes} {
			c := config([]string{"plain", "shaped"}[i])
			c.Mapping.OutputFormat, c.Mapping.Shapes = format, shapes
			c.Mapping.RML = strings.Replace(jsonMapping, `rr:subjectMap [`,
				`rr:subjectMap [ rr:class <http://example.com/C> ; rr:graph map:G ;`, 1)
			channel := newChannel(t, c, environment(b))
			require.NoError(t, channel.Start(t.Context()))
			message := []byte(`{"id":2,"value":["v","ä\"",1.5,true]}`)
			require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: c.Input.Name, Payload: message}))
			outputs[i] = await(t, b, c.Output.Name, 1)[0]
		}
		require.Equal(t, outputs[0], outputs[1], format)
		require.Contains(t, outputs[0], "1.5")
	}
}

func TestNewChannel_refusesShapesThatCheckNothing(t *testing.T) {
	for shapes, want := range map[string]string{
		"@prefix sh: <http://www.w3.org/ns/shacl#> . <http://a/S> a sh:NodeShape .": "no shape has a target",
		"\n\n<":                        "line 3",
		valueShapes + "ex:S sh:in 1 .": "line 7: shape <http://example.com/S>: the value of sh:in is not a well-formed list",
	} {
		c := config("refused")
		c.Mapping.Shapes = shapes
		_, err := annotate.NewChannel(c, environment(annotate.NewMemoryBroker(nil)))
		var field *annotate.FieldError
		require.ErrorAs(t, err, &field, shapes)
		require.Equal(t, "metadata.mapping.shapes", field.Field)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, c.Mapping.Check(), want)
	}
}

func TestMapping_Try_reportsWhatTheShapesFind(t *testing.T) {
	m := shapedConfig("try").Mapping
	trial, err := m.Try(t.Context(), []byte(`{"id":2,"value":"x-too-long"}`), "", rml.Limits{})
	require.NoError(t, err)
	require.True(t, trial.Checked)
	require.Empty(t, trial.Output)
	require.Len(t, trial.Statements, 1)
	require.Equal(t, []int{1, 1, 1}, []int{trial.Report.Violations, trial.Report.Warnings, trial.Report.Focus})
	require.Equal(t, 5, trial.Report.Results[0].Line)

	trial, err = m.Try(t.Context(), []byte(`{"id":2}`), "", rml.Limits{})
	require.NoError(t, err)
	require.Zero(t, trial.Report.Focus)
	m.Shapes = ""
	trial, err = m.Try(t.Context(), []byte(`{"id":2,"value":"x-too-long"}`), "", rml.Limits{})
	require.NoError(t, err)
	require.False(t, trial.Checked)
	require.NotEmpty(t, trial.Output)
}
