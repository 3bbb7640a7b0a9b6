package rml_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
)

func TestMapper_AppendQuads_writesWhatAppendWrites(t *testing.T) {
	const body = prefixes + `map:M a rr:TriplesMap ; ` + jsonStream + `
		rr:subjectMap [ rr:template "http://a/{id}" ; rr:class ex:C ; rr:graph ex:g, ex:h ] ;
		rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "v" ] ],
			[ rr:predicate ex:q ; rr:objectMap [ rml:reference "w" ; rr:termType rr:BlankNode ] ] .`
	for _, format := range []rdf.Format{rdf.NTriples, rdf.NQuads, rdf.Turtle, rdf.TriG, rdf.JSONLD} {
		m := newMapper(t, body, &rml.Options{Format: format})
		for _, message := range []string{`{"id":1,"v":["x","ä\"\n",1.5],"w":"b"}`, `{"id":2}`, `{}`} {
			want, err := m.Append(nil, []byte(message))
			require.NoError(t, err)
			quads, err := m.Quads([]byte(message))
			require.NoError(t, err)
			got, err := m.AppendQuads([]byte("kept"), quads)
			require.NoError(t, err)
			require.Equal(t, "kept"+string(want), string(got), format)
		}
	}
}

func TestMapper_AppendQuads_leavesOutWhatTheFormatCannotHave(t *testing.T) {
	m := newMapper(t, prefixes+`map:M a rr:TriplesMap ; `+jsonStream+` rr:subjectMap [ rr:template "http://a/{id}" ] .`,
		&rml.Options{Format: rdf.RDFXML})
	dst, err := m.AppendQuads([]byte("kept"), []rdf.Quad{{
		Subject: rdf.NewIRI("http://a/1"), Predicate: rdf.NewIRI("http://a/1"), Object: rdf.NewLiteral("x"),
	}})
	var failed *rml.MessageError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "kept", string(dst))
}
