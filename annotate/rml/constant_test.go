package rml_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
)

// constantMapping generates a statement with a constant that is written as the object map has it.
func constantMapping(object string) []byte {
	return []byte(prefixes + `map:M a rr:TriplesMap ; ` + jsonStream + ` rr:subject ex:s ;
  rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ ` + object + ` ] ] .`)
}

func TestLoad_takesATextOfTheTermTypeIRIForTheIRI(t *testing.T) {
	for object, want := range map[string]rdf.Term{
		`rr:constant "http://schema.org/Person" ; rr:termType rr:IRI`:      rdf.NewIRI("http://schema.org/Person"),
		`rr:constant "urn:é" ; rr:termType <http://w3id.org/rml/IRI>`:      rdf.NewIRI("urn:é"),
		`rr:constant "Person" ; rr:termType rr:IRI`:                        rdf.NewIRI("http://base.example/Person"),
		`rr:constant "{id}" ; rr:termType rr:Literal`:                      rdf.NewLiteral("{id}"),
		`rr:constant "http://schema.org/Person"`:                           rdf.NewLiteral("http://schema.org/Person"),
		`rr:constant "http://schema.org/Person" ; rr:termType rr:Literal`:  rdf.NewLiteral("http://schema.org/Person"),
		`rr:constant <http://schema.org/Person> ; rr:termType rr:IRI`:      rdf.NewIRI("http://schema.org/Person"),
		`rml:constant "http://schema.org/Person" ; rml:termType rml:IRI`:   rdf.NewIRI("http://schema.org/Person"),
		`rr:constant "ex:a" ; rr:termType <http://w3id.org/rml/UnsafeIRI>`: rdf.NewIRI("ex:a"),
	} {
		for _, dialect := range []rml.Dialect{rml.DialectRML, rml.DialectCARML} {
			mapping, err := rml.Load(constantMapping(object), nil)
			require.NoError(t, err, object)
			plan, err := rml.Compile(mapping, &rml.Options{Dialect: dialect, Base: "http://base.example/"})
			require.NoError(t, err, object)
			quads, err := plan.NewMapper().Quads([]byte(`{}`))
			require.NoError(t, err, object)
			require.Len(t, quads, 1)
			require.Equal(t, want, quads[0].Object, "%s in %v", object, dialect)
		}
	}
}

func TestLoad_refusesATextOfTheTermTypeIRIThatIsNone(t *testing.T) {
	for object, reason := range map[string]string{
		`rr:constant "a person" ; rr:termType rr:IRI`:                                `its constant "a person" is not an IRI (byte 1)`,
		`rr:constant "" ; rr:termType rr:IRI`:                                        `its constant "" is not an IRI`,
		`rr:constant "http://a.example/" ; rr:termType rr:IRI ; rr:language "en"`:    "yet its termType is IRI: expected Literal",
		`rr:constant "http://a.example/" ; rr:termType rr:IRI ; rr:datatype ex:type`: "yet its termType is IRI: expected Literal",
	} {
		_, err := rml.Load(constantMapping(object), nil)
		require.ErrorContains(t, err, reason)
	}
}

// The names of functions and parameters are written like that by yarrrml-parser.
func TestLoad_takesTextsOfTheTermTypeIRIForPredicatesAndFunctions(t *testing.T) {
	mapping, err := rml.Load([]byte(prefixes+`@prefix fnml: <http://semweb.mmlab.be/ns/fnml#> .
map:M a rr:TriplesMap ; `+jsonStream+` rr:subjectMap [ rr:constant "http://a.example/s" ; rr:termType rr:IRI ;
    rr:graphMap [ rr:constant "http://a.example/g" ; rr:termType rr:IRI ] ] ;
  rr:predicateObjectMap [ rr:predicateMap [ rr:constant "http://a.example/p" ; rr:termType rr:IRI ] ;
    rr:objectMap [ fnml:functionValue [
      rr:predicateObjectMap [ rr:predicateMap [ rr:constant "https://w3id.org/function/ontology#executes" ; rr:termType rr:IRI ] ;
        rr:objectMap [ rr:constant "http://users.ugent.be/~bjdmeest/function/grel.ttl#toUpperCase" ; rr:termType rr:IRI ] ] ;
      rr:predicateObjectMap [
        rr:predicateMap [ rr:constant "http://users.ugent.be/~bjdmeest/function/grel.ttl#valueParameter" ; rr:termType rr:IRI ] ;
        rr:objectMap [ rr:constant "some text" ; rr:termType rr:IRI ] ] ] ] ] .`), nil)
	require.NoError(t, err)
	plan, err := rml.Compile(mapping, nil)
	require.NoError(t, err)
	quads, err := plan.NewMapper().Quads([]byte(`{}`))
	require.NoError(t, err)
	require.Equal(t, []rdf.Quad{{
		Subject: rdf.NewIRI("http://a.example/s"), Predicate: rdf.NewIRI("http://a.example/p"),
		Object: rdf.NewLiteral("SOME TEXT"), Graph: rdf.NewIRI("http://a.example/g"),
	}}, quads)
}
