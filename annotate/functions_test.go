package annotate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/rml"
)

// functionMapping calls a function that is not built in.
const functionMapping = `@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix carml: <http://carml.taxonic.com/carml/> .
@prefix fnml: <http://semweb.mmlab.be/ns/fnml#> .
@prefix fno: <https://w3id.org/function/ontology#> .
@prefix ex: <http://example.com/> .
ex:M a rr:TriplesMap ;
  rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
  rr:subject ex:s ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ fnml:functionValue [
    rr:predicateObjectMap [ rr:predicate fno:executes ; rr:object ex:answer ] ] ] ] .`

func TestEnvironment_Functions_areKnownToChannelsAndTrials(t *testing.T) {
	answer := rml.Function{
		IRI: "http://example.com/answer", Datatypes: []string{"http://www.w3.org/2001/XMLSchema#integer"},
		Apply: func(rml.Call) ([]string, error) { return []string{"42"}, nil },
	}
	mapping := annotate.Mapping{InputFormat: annotate.JSON, OutputFormat: annotate.NQuads, RML: functionMapping}
	trial, err := mapping.Try(t.Context(), []byte(`{}`), "", rml.Limits{}, answer)
	require.NoError(t, err)
	require.Contains(t, string(trial.Output), `"42"^^<http://www.w3.org/2001/XMLSchema#integer>`)
	_, err = mapping.Try(t.Context(), []byte(`{}`), "", rml.Limits{})
	require.ErrorContains(t, err, "the function <http://example.com/answer> is not known")

	broker := annotate.NewMemoryBroker(nil)
	config := annotate.ChannelConfig{
		ID: "c", Mapping: mapping,
		Input:  annotate.Topic{Name: "in", Broker: annotate.Memory},
		Output: annotate.Topic{Name: "out", Broker: annotate.Memory},
	}
	env := annotate.Environment{Drivers: []annotate.Driver{annotate.MemoryDriver(broker)}}
	_, err = annotate.NewChannel(config, env)
	require.ErrorContains(t, err, "the function <http://example.com/answer> is not known")
	env.Functions = []rml.Function{answer}
	_, err = annotate.NewChannel(config, env)
	require.NoError(t, err)
}
