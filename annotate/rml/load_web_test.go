package rml_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
)

const webPrefixes = `@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .
@prefix formats: <http://www.w3.org/ns/formats/> .
@prefix td: <https://www.w3.org/2019/wot/td#> .
@prefix hctl: <https://www.w3.org/2019/wot/hypermedia#> .
@prefix wotsec: <https://www.w3.org/2019/wot/security#> .
@prefix htv: <http://www.w3.org/2011/http#> .
@prefix dcat: <http://www.w3.org/ns/dcat#> .
@base <http://example.org/> .
`

// webSource loads a mapping with a logical source and a source <S>.
func webSource(logical, source string) (rml.Source, error) {
	mapping, err := rml.Load([]byte(webPrefixes+`<M> a rr:TriplesMap; rml:logicalSource <L>;
  rr:subjectMap [ rr:template "http://example.org/{id}" ] .
<L> rml:source <S>; `+logical+" .\n<S> "+source), nil)
	if err != nil {
		return rml.Source{}, err
	}
	return mapping.Sources()[0], nil
}

const (
	query = `rml:referenceFormulation ql:CSV; rml:query "SELECT ?id {}"`
	form  = `td:hasForm [ hctl:hasTarget "https://example.org/v?k=1" ]`
)

func TestLoad_readsSourcesOnTheWeb(t *testing.T) {
	for name, c := range map[string]struct {
		logical, source string
		want            rml.Source
		text            string
	}{
		"endpoint": {query, `a sd:Service; sd:endpoint <http://h/sparql> .`, rml.Source{
			Kind: rml.SourceEndpoint, Name: "http://h/sparql", Formulation: rml.CSV, Query: "SELECT ?id {}",
			Access: rml.Access{MediaType: "text/csv"},
		}, `endpoint "http://h/sparql", query "SELECT ?id {}"`},
		"results that the service has": {query, `sd:endpoint "http://h/s";
			sd:resultFormat formats:SPARQL_Results_JSON, formats:SPARQL_Results_TSV .`,
			rml.Source{
				Kind: rml.SourceEndpoint, Name: "http://h/s", Formulation: rml.CSV, Query: "SELECT ?id {}",
				Access: rml.Access{MediaType: "text/tab-separated-values"},
			}, `endpoint "http://h/s", query "SELECT ?id {}"`},
		"affordance": {`rml:referenceFormulation ql:JSONPath`, form + " .", rml.Source{
			Kind: rml.SourceThing, Name: "https://example.org/v?k=1", Formulation: rml.JSONPath,
		}, `thing "https://example.org/v"`},
		"thing with a form for reading": {`rml:referenceFormulation ql:JSONPath`, `td:hasPropertyAffordance [ td:hasForm
			[ hctl:hasTarget <http://h/w>; hctl:hasOperationType td:writeProperty ], [ hctl:hasTarget <mqtt://h/m> ],
			[ hctl:hasTarget <http://h/r>; hctl:hasOperationType "readproperty"; htv:methodName "post"; hctl:forContentType "application/json";
			  htv:headers ([ htv:fieldName "A"; htv:fieldValue "b c" ] [ htv:fieldName "D"; htv:fieldValue "" ]) ] ];
			td:hasSecurityConfiguration [ a wotsec:NoSecurityScheme ], [ a wotsec:APIKeySecurityScheme; wotsec:name "k" ] .`, rml.Source{
			Kind: rml.SourceThing, Name: "http://h/r", Formulation: rml.JSONPath, Access: rml.Access{
				Method: "POST", MediaType: "application/json", Headers: "A: b c\nD: \n",
				Security: rml.Security{Scheme: rml.KeySecurity, In: "query", Name: "k"},
			},
		}, `thing "http://h/r"`},
		"file": {`rml:referenceFormulation ql:CSV`, `dcat:downloadURL <https://h/x.csv?token=1> .`, rml.Source{
			Kind: rml.SourceFile, Name: "https://h/x.csv?token=1", Formulation: rml.CSV,
		}, `file "https://h/x.csv"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := webSource(c.logical, c.source)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Equal(t, c.text, got.String())
		})
	}
}

func TestLoad_saysWhatIsWrongWithASourceOnTheWeb(t *testing.T) {
	cases := []struct{ logical, source, want string }{
		{query, `a sd:Service .`, "it has no sd:endpoint: expected exactly one"},
		{query, `sd:endpoint <file:///x> .`, "expected http://HOST/PATH"},
		{query, `sd:endpoint <http://u:secret@h/> .`, "give them to the program that runs the mapping"},
		{query, `sd:endpoint <http://h/>; sd:supportedLanguage sd:SPARQL11Update .`, "its only sd:supportedLanguage is SPARQL11Update"},
		{query, `sd:endpoint <http://h/>; sd:resultFormat formats:SPARQL_Results_XML .`, "the service has no such sd:resultFormat"},
		{`rml:referenceFormulation ql:CSV`, `sd:endpoint <http://h/> .`, "it has no query in SPARQL"},
		{`rml:referenceFormulation ql:CSV; rml:query " "`, `sd:endpoint <http://h/> .`, "it has no query in SPARQL"},
		{`rml:query "SELECT"`, `sd:endpoint <http://h/> .`, "it has no referenceFormulation: expected exactly one"},
		{`rml:query "SELECT"; rml:referenceFormulation ql:Nonsense`, `sd:endpoint <http://h/> .`, "expected formats:SPARQL_Results_CSV"},
		{`rml:query "SELECT", "ASK"; rml:referenceFormulation ql:CSV`, `sd:endpoint <http://h/> .`, "more than one query"},
		{`rml:query <x>; rml:referenceFormulation ql:CSV`, `sd:endpoint <http://h/> .`, "expected text in quotes"},
		{"", `a td:Thing .`, "it has no form"},
		{"", `td:hasForm [ a hctl:Form ] .`, "its form has no hctl:hasTarget"},
		{"", `td:hasForm [ hctl:hasTarget "v" ] .`, "expected http://HOST/PATH"},
		{"", `td:hasForm [ hctl:hasTarget "coap://h/v" ] .`, "none of its 1 forms reads a property over http or https"},
		{"", `td:hasForm [ hctl:hasTarget "http://h/{v}" ] .`, "a URI template with variables"},
		{"", `td:hasPropertyAffordance [ ` + form + ` ], [ ` + form + ` ] .`, "it has 2 property affordances"},
		{"", `td:hasForm [ hctl:hasTarget "http://h/"; htv:methodName "DELETE" ] .`, "a source is read by GET or POST"},
		{"", `td:hasForm [ hctl:hasTarget "http://h/"; hctl:forContentType "a\r\nb" ] .`, "expected a media type"},
		{"", `td:hasForm [ hctl:hasTarget "http://h/"; htv:headers [ htv:fieldName "a b" ] ] .`, `a field has the name "a b"`},
		{"", `td:hasForm [ hctl:hasTarget "http://h/"; htv:headers [ htv:fieldName "A"; htv:fieldValue "x\ny" ] ] .`,
			"a character that a header cannot have"},
		{"", `td:hasForm [ hctl:hasTarget "http://h/"; htv:headers [ htv:fieldName "HOST"; htv:fieldValue "x" ] ] .`,
			"belongs to the connection"},
		{"", `td:hasForm [ hctl:hasTarget "http://h/"; htv:headers <R> ] . <R> <http://www.w3.org/1999/02/22-rdf-syntax-ns#first> <A> ;
			<http://www.w3.org/1999/02/22-rdf-syntax-ns#rest> <R> .`, "not a well-formed list"},
		{"", form + `; td:hasSecurityConfiguration [ a wotsec:DigestSecurityScheme ] .`, "expected a NoSecurityScheme"},
		{"", form + `; td:hasSecurityConfiguration [ a wotsec:APIKeySecurityScheme ] .`, "the API key has no name"},
		{"", form + `; td:hasSecurityConfiguration [ a wotsec:BasicSecurityScheme ], [ a wotsec:BearerSecurityScheme ] .`,
			"several security schemes"},
	}
	for _, c := range cases {
		logical := c.logical
		if logical == "" {
			logical = "rml:referenceFormulation ql:JSONPath"
		}
		_, err := webSource(logical, c.source)
		var mistake *rml.MappingError
		require.ErrorAs(t, err, &mistake, c.want)
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "secret")
		require.Positive(t, mistake.Line, c.want)
	}
}

func TestAccess_printsNoHeaders(t *testing.T) {
	a := rml.Access{Method: "GET", MediaType: "text/csv", Headers: "A: hush\n"}
	require.Equal(t, "GET text/csv", a.String())
	require.Equal(t, "GET text/csv", a.GoString())
}

// A packed file that is cut off is an error, and not the end of the file.
func TestMapper_Run_reportsAPackedFileThatIsCutOff(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := io.WriteString(w, "id\n"+strings.Repeat("12345678\n87654321\n", 1000))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	mapping, err := rml.Load([]byte(`@prefix rml: <http://w3id.org/rml/> . @prefix ex: <http://example.org/> .
ex:M a rml:TriplesMap; rml:logicalSource [ rml:source [ a rml:RelativePathSource; rml:path "x.csv.gz"; rml:compression rml:gzip ];
	rml:referenceFormulation rml:CSV ]; rml:subjectMap [ rml:template "http://example.org/{id}"; rml:class ex:C ] .`), nil)
	require.NoError(t, err)
	plan, err := rml.Compile(mapping, nil)
	require.NoError(t, err)
	run := func(data []byte) error {
		return plan.NewMapper().Run(context.Background(), io.Discard, rml.Files{Open: func(rml.Source) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(data)), nil
		}})
	}
	require.NoError(t, run(packed.Bytes()))
	require.ErrorIs(t, run(packed.Bytes()[:packed.Len()-20]), io.ErrUnexpectedEOF)
}

func TestMapper_Run_asksAFileInSPARQL(t *testing.T) {
	const mapping = webPrefixes + `<M> a rr:TriplesMap; rml:logicalSource [ rml:source "x.ttl"; rml:query """
		SELECT ?who ?name { ?who <http://e/name> ?name }"""; rml:referenceFormulation formats:SPARQL_Results_FORMAT ];
	rr:subjectMap [ rml:reference "WHO"; rr:termType rr:IRI ];
	rr:predicateObjectMap [ rr:predicate <label>; rr:objectMap [ rml:reference "NAME" ] ] .`
	for format, suffix := range map[string]string{"CSV": "", "TSV": "", "JSON": ".value"} {
		loaded, err := rml.Load([]byte(strings.NewReplacer("FORMAT", format, "WHO", "who"+suffix, "NAME", "name"+suffix).Replace(mapping)), nil)
		require.NoError(t, err)
		plan, err := rml.Compile(loaded, nil)
		require.NoError(t, err)
		var out bytes.Buffer
		require.NoError(t, plan.NewMapper().Run(t.Context(), &out, rml.Files{Open: func(rml.Source) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(`<http://e/1> <http://e/name> "Ann, \"A\"" .`)), nil
		}}))
		require.Equal(t, "<http://e/1> <http://example.org/label> \"Ann, \\\"A\\\"\" .\n", out.String(), format)
	}
}

func TestLoad_saysWhatIsWrongWithAQueryOfAFile(t *testing.T) {
	for source, want := range map[string]string{
		`rml:source "x.csv"; rml:query "SELECT ?a {?a ?b ?c}"`:            "expected a name that ends in one of .nt, .nq, .ttl, .trig",
		`rml:source "x.ttl.gz"; rml:query "SELECT ?a {?a ?b ?c} LIMIT 1"`: `"LIMIT" is not evaluated over a file`,
		`rml:source "x.ttl"`:                                                "it has no query in SPARQL",
		`rml:query "SELECT ?a {?a ?b ?c}"`:                                  "it has no source",
		`rml:source [ a carml:Stream ]; rml:query "SELECT ?a {?a ?b ?c}"`:   "it asks the unnamed stream in SPARQL",
		`rml:source "https://h/x.ttl?a.b"; rml:query "SELECT ?a ?b ?c ?d "`: "it has no pattern in braces",
	} {
		_, err := rml.Load([]byte(webPrefixes+`@prefix carml: <http://carml.taxonic.com/carml/> .
<M> a rr:TriplesMap; rr:subjectMap [ rr:template "http://example.org/{a}" ];
  rml:logicalSource [ `+source+`; rml:referenceFormulation formats:SPARQL_Results_CSV ] .`), nil)
		require.ErrorContains(t, err, want, source)
	}
}
