package rml_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
)

// numberMapping generates statements from a value: as a decimal, as an integer, as they are, in an IRI.
const numberMapping = `
@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix rml: <http://semweb.mmlab.be/ns/rml#> . @prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix carml: <http://carml.taxonic.com/carml/> . @prefix ex: <http://example.org/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix fnml: <http://semweb.mmlab.be/ns/fnml#> . @prefix fno: <https://w3id.org/function/ontology#> .
@prefix grel: <http://users.ugent.be/~bjdmeest/function/grel.ttl#> .
<#m> rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
 rr:subjectMap [ rr:template "http://ex.org/{v}" ] ;
 rr:predicateObjectMap [ rr:predicate ex:decimal ; rr:objectMap [ rml:reference "v" ; rr:datatype xsd:decimal ] ] ;
 rr:predicateObjectMap [ rr:predicate ex:template ;
   rr:objectMap [ rr:template "{v}" ; rr:termType rr:Literal ; rr:datatype xsd:decimal ] ] ;
 rr:predicateObjectMap [ rr:predicate ex:integer ; rr:objectMap [ rml:reference "v" ; rr:datatype xsd:integer ] ] ;
 rr:predicateObjectMap [ rr:predicate ex:long ; rr:objectMap [ rml:reference "v" ; rr:datatype xsd:long ] ] ;
 rr:predicateObjectMap [ rr:predicate ex:double ; rr:objectMap [ rml:reference "v" ; rr:datatype xsd:double ] ] ;
 rr:predicateObjectMap [ rr:predicate ex:text ; rr:objectMap [ rml:reference "v" ] ] ;
 rr:predicateObjectMap [ rr:predicate ex:byRecord ;
   rr:objectMap [ rml:reference "v" ; rml:datatypeMap [ rr:template "http://www.w3.org/2001/XMLSchema#{type}" ] ] ] ;
 rr:predicateObjectMap [ rr:predicate ex:argument ; rr:objectMap [ fnml:functionValue [
   rr:predicateObjectMap [ rr:predicate fno:executes ; rr:objectMap [ rr:constant grel:toUpperCase ] ] ;
   rr:predicateObjectMap [ rr:predicate grel:valueParameter ; rr:objectMap [ rml:reference "v" ] ] ] ] ] .`

// mapNumber returns the last part of each object that the mapping generates from a message, by predicate.
func mapNumber(t *testing.T, mapping, message string, dialect rml.Dialect) (map[string]string, rml.Tally) {
	t.Helper()
	loaded, err := rml.Load([]byte(mapping), nil)
	require.NoError(t, err)
	plan, err := rml.Compile(loaded, &rml.Options{Strict: true, Dialect: dialect})
	require.NoError(t, err)
	m := plan.NewMapper()
	quads, err := m.Quads([]byte(message))
	require.NoError(t, err, message)
	objects := map[string]string{}
	for _, q := range quads {
		name := strings.TrimPrefix(q.Predicate.Value, "http://example.org/")
		objects[name] = q.Object.Value + " " + strings.TrimPrefix(q.Object.Datatype, "http://www.w3.org/2001/XMLSchema#")
		objects["subject"] = strings.TrimPrefix(q.Subject.Value, "http://ex.org/")
	}
	return objects, m.Tally()
}

func TestPlan_dialectCARML_writesPlainDecimals(t *testing.T) {
	for _, c := range []struct {
		number, plain, decimal, text, integer string
	}{
		{"12345678.5", "12345678.5", "12345678.5", "1.23456785E7", "1.23456785E7"},
		{"0.0005", "0.0005", "0.0005", "5.0E-4", "5.0E-4"},
		{"1234567.5", "1234567.5", "1234567.5", "1234567.5", "1234567.5"},
		{"1.2e-7", "0.00000012", "0.00000012", "1.2E-7", "1.2E-7"},
		{"15000000.0", "15000000.0", "15000000.0", "1.5E7", "15000000"},
		{"25.0", "25.0", "25.0", "25.0", "25"},
		{"-2.5e10", "-25000000000.0", "-25000000000.0", "-2.5E10", "-25000000000"},
		{"12345678901.234567", "12345678901.234567", "12345678901.234567", "1.2345678901234568E10", "1.2345678901234568E10"},
		{"25", "25", "25.0", "25", "25"},
	} {
		objects, tally := mapNumber(t, numberMapping, fmt.Sprintf(`{"v": %s, "type": "decimal"}`, c.number), rml.DialectCARML)
		require.Equal(t, c.plain, objects["subject"], "an IRI of %s", c.number)
		require.Equal(t, c.plain+" ", objects["argument"], "an argument %s", c.number)
		require.Equal(t, c.decimal+" decimal", objects["decimal"])
		require.Equal(t, c.plain+" decimal", objects["template"])
		require.Regexp(t, `^`+c.decimal+` decimal$|^`+strings.TrimSuffix(c.plain, ".0")+` decimal$`, objects["byRecord"])
		require.Equal(t, c.text+" ", objects["text"], "what CARML writes")
		require.Equal(t, c.integer+" integer", objects["integer"])
		require.Equal(t, c.integer+" long", objects["long"])
		illTyped := 0
		if strings.ContainsAny(c.integer, ".") {
			illTyped = 2
		}
		require.Equal(t, illTyped, tally.IllTyped, c.number)
	}
}

func TestPlan_dialectRML_convertsNumbersWhereNoDigitIsLost(t *testing.T) {
	objects, tally := mapNumber(t, numberMapping, `{"v": 25.0, "type": "int"}`, rml.DialectRML)
	require.Equal(t, map[string]string{
		"subject": "25.0", "decimal": "25.0 decimal", "template": "25.0 decimal", "integer": "25 integer", "long": "25 long",
		"double": "25.0 double", "text": "25.0 ", "byRecord": "25 int", "argument": "25.0 ",
	}, objects)
	require.Zero(t, tally.IllTyped)
	objects, tally = mapNumber(t, numberMapping, `{"v": 1.2e-7, "type": "int"}`, rml.DialectRML)
	require.Equal(t, "0.00000012 decimal", objects["decimal"])
	require.Equal(t, "0.00000012 decimal", objects["template"])
	require.Equal(t, "1.2e-7 integer", objects["integer"])
	require.Equal(t, "1.2e-7 int", objects["byRecord"])
	require.Equal(t, 3, tally.IllTyped, "integer, long, byRecord")

	const modern = `@prefix rml: <http://w3id.org/rml/> . @prefix ex: <http://example.org/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<#m> rml:logicalSource [ rml:source [ a <http://carml.taxonic.com/carml/Stream> ] ;
   rml:referenceFormulation rml:%s ; rml:iterator "%s" ] ;
 rml:subjectMap [ rml:constant ex:s ] ;
 rml:predicateObjectMap [ rml:predicate ex:v ; rml:objectMap [ rml:reference "v" ; rml:datatype xsd:%s ] ] .`
	for _, c := range []struct{ formulation, iterator, message, datatype, want string }{
		{"JSONPath", "$", `{"v": 1.2e-7}`, "decimal", "0.00000012"},
		{"JSONPath", "$", `{"v": 25.0}`, "integer", "25"},
		{"JSONPath", "$", `{"v": 25.5}`, "integer", ""},
		{"JSONPath", "$", `{"v": 3e2}`, "byte", ""},
		{"JSONPath", "$", `{"v": 1e99999}`, "decimal", ""},
		{"JSONPath", "$", `{"v": "25,5"}`, "decimal", ""},
		{"CSV", "", "v\n1.2E-7\n", "decimal", "0.00000012"},
		{"XPath", "/", "<v>1e2</v>", "unsignedByte", "100"},
	} {
		loaded, err := rml.Load(fmt.Appendf(nil, strings.ReplaceAll(modern, `rml:iterator "%s"`, `rml:iterator "`+c.iterator+`"`),
			c.formulation, c.datatype), nil)
		require.NoError(t, err)
		plan, err := rml.Compile(loaded, nil)
		require.NoError(t, err)
		quads, err := plan.NewMapper().Quads([]byte(c.message))
		if c.want == "" {
			require.ErrorContains(t, err, "is not in the lexical space of its datatype", c)
			continue
		}
		require.NoError(t, err)
		require.Len(t, quads, 1)
		require.Equal(t, c.want, quads[0].Object.Value)
	}
}

func TestMapper_Append_convertsNumbersWithoutAllocating(t *testing.T) {
	mapping, _, _ := strings.Cut(numberMapping, " rr:predicateObjectMap [ rr:predicate ex:byRecord")
	loaded, err := rml.Load([]byte(mapping+"."), nil)
	require.NoError(t, err)
	plan, err := rml.Compile(loaded, nil)
	require.NoError(t, err)
	m := plan.NewMapper()
	out, message := make([]byte, 0, 4096), []byte(`{"v": 2.5e3}`)
	allocations := testing.AllocsPerRun(100, func() {
		if _, err = m.Append(out, message); err != nil {
			panic(err)
		}
	})
	require.Zero(t, allocations)
}
