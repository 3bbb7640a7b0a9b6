package shacl_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/shacl"
)

const prefixes = `@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <http://example.org/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . `

func quads(t testing.TB, turtle string) []rdf.Quad {
	t.Helper()
	r, err := rdf.NewReader(strings.NewReader(prefixes+turtle), rdf.TriG, nil)
	require.NoError(t, err)
	var all []rdf.Quad
	for q, err := range r.All() {
		require.NoError(t, err)
		all = append(all, q)
	}
	return all
}

func load(t testing.TB, turtle string) *shacl.Shapes {
	t.Helper()
	shapes, err := shacl.Load([]byte(prefixes+turtle), nil)
	require.NoError(t, err)
	return shapes
}

func TestShapes_Validate_checksEachComponent(t *testing.T) {
	for name, c := range map[string]struct{ shape, good, bad, component string }{
		"class": {`sh:path ex:p ; sh:class ex:C`,
			`ex:a ex:p ex:b . ex:b a ex:D . ex:D rdfs:subClassOf ex:C .`, `ex:a ex:p ex:b .`, "Class"},
		"datatype":   {`sh:path ex:p ; sh:datatype xsd:integer`, `ex:a ex:p 1 .`, `ex:a ex:p "x"^^xsd:integer .`, "Datatype"},
		"datatype2":  {`sh:path ex:p ; sh:datatype xsd:string`, `ex:a ex:p "1" .`, `ex:a ex:p "1"@en .`, "Datatype"},
		"nodeKind":   {`sh:path ex:p ; sh:nodeKind sh:BlankNodeOrIRI`, `ex:a ex:p [] .`, `ex:a ex:p 1 .`, "NodeKind"},
		"minCount":   {`sh:path ex:p ; sh:minCount 2`, `ex:a ex:p 1, 2 .`, `ex:a ex:p 1 . ex:g { ex:a ex:p 1 }`, "MinCount"},
		"maxCount":   {`sh:path ex:p ; sh:maxCount 1`, `ex:a ex:p 1 .`, `ex:a ex:p 1, 2 .`, "MaxCount"},
		"minExcl":    {`sh:path ex:p ; sh:minExclusive 1`, `ex:a ex:p 1.1 .`, `ex:a ex:p 1.0 .`, "MinExclusive"},
		"minIncl":    {`sh:path ex:p ; sh:minInclusive 1`, `ex:a ex:p 1.0 .`, `ex:a ex:p "2" .`, "MinInclusive"},
		"maxExcl":    {`sh:path ex:p ; sh:maxExclusive 1`, `ex:a ex:p 0 .`, `ex:a ex:p 1e0 .`, "MaxExclusive"},
		"maxIncl":    {`sh:path ex:p ; sh:maxInclusive 1`, `ex:a ex:p 1 .`, `ex:a ex:p ex:b .`, "MaxInclusive"},
		"minLength":  {`sh:path ex:p ; sh:minLength 2`, `ex:a ex:p "äö" .`, `ex:a ex:p "ä" .`, "MinLength"},
		"maxLength":  {`sh:path ex:p ; sh:maxLength 2`, `ex:a ex:p "äö" .`, `ex:a ex:p [] .`, "MaxLength"},
		"pattern":    {`sh:path ex:p ; sh:pattern "^A\\d$" ; sh:flags "i"`, `ex:a ex:p "a1" .`, `ex:a ex:p "ab" .`, "Pattern"},
		"languageIn": {`sh:path ex:p ; sh:languageIn ("de")`, `ex:a ex:p "x"@de-AT .`, `ex:a ex:p "x"@den .`, "LanguageIn"},
		"uniqueLang": {`sh:path ex:p ; sh:uniqueLang true`, `ex:a ex:p "x"@de, "y"@en .`, `ex:a ex:p "x"@de, "y"@de .`, "UniqueLang"},
		"equals":     {`sh:path ex:p ; sh:equals ex:q`, `ex:a ex:p 1 ; ex:q 1 .`, `ex:a ex:q 1 .`, "Equals"},
		"disjoint":   {`sh:path ex:p ; sh:disjoint ex:q`, `ex:a ex:p 1 ; ex:q 2 .`, `ex:a ex:p 1 ; ex:q 1 .`, "Disjoint"},
		"lessThan":   {`sh:path ex:p ; sh:lessThan ex:q`, `ex:a ex:p 1 ; ex:q 2 .`, `ex:a ex:p 1 ; ex:q 1 .`, "LessThan"},
		"lessOrEqual": {`sh:path ex:p ; sh:lessThanOrEquals ex:q`,
			`ex:a ex:p 1 ; ex:q 1 .`, `ex:a ex:p 2 ; ex:q 1 .`, "LessThanOrEquals"},
		"not":      {`sh:not [ sh:class ex:C ]`, ``, `ex:a a ex:C .`, "Not"},
		"and":      {`sh:and ([ sh:class ex:C ] [ sh:class ex:D ])`, `ex:a a ex:C, ex:D .`, `ex:a a ex:C .`, "And"},
		"or":       {`sh:or ([ sh:class ex:C ] [ sh:class ex:D ])`, `ex:a a ex:D .`, ``, "Or"},
		"xone":     {`sh:xone ([ sh:class ex:C ] [ sh:class ex:D ])`, `ex:a a ex:D .`, `ex:a a ex:C, ex:D .`, "Xone"},
		"node":     {`sh:path ex:p ; sh:node [ sh:class ex:C ]`, `ex:a ex:p ex:b . ex:b a ex:C .`, `ex:a ex:p ex:b .`, "Node"},
		"property": {`sh:property [ sh:path ex:p ; sh:minCount 1 ]`, `ex:a ex:p 1 .`, ``, "MinCount"},
		"qualifiedMin": {`sh:path ex:p ; sh:qualifiedValueShape [ sh:class ex:C ] ; sh:qualifiedMinCount 1`,
			`ex:a ex:p ex:b, ex:c . ex:b a ex:C .`, `ex:a ex:p ex:b .`, "QualifiedMinCount"},
		"qualifiedMax": {`sh:path ex:p ; sh:qualifiedValueShape [ sh:class ex:C ] ; sh:qualifiedMaxCount 0`,
			`ex:a ex:p ex:b .`, `ex:a ex:p ex:b . ex:b a ex:C .`, "QualifiedMaxCount"},
		"closed": {`sh:closed true ; sh:ignoredProperties (rdf:type) ; sh:property [ sh:path ex:p ]`,
			`ex:a a ex:C ; ex:p 1 .`, `ex:a ex:q 1 .`, "Closed"},
		"hasValue": {`sh:path ex:p ; sh:hasValue 1`, `ex:a ex:p 1, 2 .`, `ex:a ex:p 2 .`, "HasValue"},
		"in":       {`sh:path ex:p ; sh:in (1 ex:b)`, `ex:a ex:p 1, ex:b .`, `ex:a ex:p 2 .`, "In"},
		"sequence": {`sh:path (ex:p ex:q) ; sh:minCount 1`, `ex:a ex:p [ ex:q 1 ] .`, `ex:a ex:p 1 .`, "MinCount"},
		"alternative": {`sh:path [ sh:alternativePath (ex:p ex:q) ] ; sh:minCount 2`,
			`ex:a ex:p 1 ; ex:q 2 .`, `ex:a ex:p 1 ; ex:q 1 .`, "MinCount"},
		"inverse": {`sh:path [ sh:inversePath (ex:p ex:q) ] ; sh:hasValue ex:b`,
			`ex:b ex:p [ ex:q ex:a ] .`, `ex:a ex:p [ ex:q ex:b ] .`, "HasValue"},
		"zeroOrMore": {`sh:path [ sh:zeroOrMorePath ex:p ] ; sh:minCount 3`,
			`ex:a ex:p ex:b . ex:b ex:p ex:c, ex:a .`, `ex:a ex:p ex:b .`, "MinCount"},
		"oneOrMore": {`sh:path [ sh:oneOrMorePath ex:p ] ; sh:minCount 2`,
			`ex:a ex:p ex:b . ex:b ex:p ex:c .`, `ex:a ex:p ex:b .`, "MinCount"},
		"zeroOrOne": {`sh:path [ sh:zeroOrOnePath ex:p ] ; sh:maxCount 2`,
			`ex:a ex:p ex:b . ex:b ex:p ex:c .`, `ex:a ex:p ex:b, ex:c .`, "MaxCount"},
	} {
		t.Run(name, func(t *testing.T) {
			shapes := load(t, "ex:S sh:targetNode ex:a ; "+c.shape+" .")
			report, err := shapes.Validate(quads(t, c.good))
			require.NoError(t, err)
			require.True(t, report.Conforms(), "%v", report.Results)
			report, err = shapes.Validate(quads(t, c.bad))
			require.NoError(t, err)
			require.Len(t, report.Results, 1)
			require.Equal(t, sh+c.component+"ConstraintComponent", report.Results[0].Component)
			require.Equal(t, shacl.Report{Results: report.Results, Violations: 1, Focus: 1}, report)
			require.NotEmpty(t, report.Results[0].Message)
			deactivated := load(t, "ex:S sh:targetNode ex:a ; sh:deactivated true ; "+c.shape+" .")
			report, err = deactivated.Validate(quads(t, c.bad))
			require.NoError(t, err)
			require.True(t, report.Conforms())
		})
	}
}

func TestShapes_Validate_findsTheTargets(t *testing.T) {
	const data = `ex:a a ex:C ; ex:p ex:b . ex:d a ex:D . ex:D rdfs:subClassOf ex:C . ex:S rdfs:label "S" .`
	for target, want := range map[string]string{
		`sh:targetNode ex:z, 7`:           `[<http://example.org/z> "7"^^<http://www.w3.org/2001/XMLSchema#integer>]`,
		`sh:targetClass ex:C`:             `[<http://example.org/a> <http://example.org/d>]`,
		`sh:targetSubjectsOf ex:p`:        `[<http://example.org/a>]`,
		`sh:targetObjectsOf ex:p`:         `[<http://example.org/b>]`,
		`a sh:NodeShape ; sh:name "none"`: `[]`,
	} {
		report, err := load(t, "ex:S "+target+" ; sh:hasValue ex:never .").Validate(quads(t, data))
		require.NoError(t, err)
		got := []string{}
		for _, r := range report.Results {
			got = append(got, string(rdf.AppendTerm(nil, r.Focus)))
		}
		require.Equal(t, want, fmt.Sprint(got), target)
	}
	report, err := load(t, "ex:C a rdfs:Class, sh:NodeShape ; sh:hasValue ex:never .").Validate(quads(t, data))
	require.NoError(t, err)
	require.Equal(t, 2, report.Violations)
}

func TestShapes_Validate_countsSeveritiesAndKeepsMessages(t *testing.T) {
	shapes := load(t, `
		ex:W sh:targetNode ex:a ; sh:hasValue 1 ; sh:severity sh:Warning ; sh:message "Wert fehlt: {$this}"@de, "no value: {$this}"@en .
		ex:I sh:targetNode ex:a ; sh:hasValue 1 ; sh:severity sh:Info ; sh:message "Wert"@de .
		ex:O sh:targetNode ex:a ; sh:hasValue 1 ; sh:severity ex:Trouble .`)
	report, err := shapes.Validate(nil)
	require.NoError(t, err)
	require.False(t, report.Conforms())
	require.Equal(t, []int{0, 1, 1, 1, 0}, []int{report.Violations, report.Warnings, report.Infos, report.Others, report.Omitted()})
	require.Equal(t, "no value: {$this}", report.Results[0].Message)
	require.Len(t, report.Results[0].Messages, 2)
	require.Equal(t, "Wert", report.Results[1].Message)
	require.Equal(t, "http://example.org/Trouble", report.Results[2].Severity)
	require.Equal(t, []int{4, 5, 6, 3}, []int{report.Results[0].Line, report.Results[1].Line, report.Results[2].Line, report.Focus})
	require.Equal(t, `<http://example.org/a>: Wert (shape <http://example.org/I>, line 5)`, report.Results[1].String())
}

func TestShapes_Validate_isLimited(t *testing.T) {
	text := []byte(prefixes + `ex:S sh:targetSubjectsOf ex:p ; sh:hasValue 1 .`)
	data := quads(t, `ex:a ex:p 1 . ex:b ex:p 1 . ex:c ex:p 1 .`)
	shapes, err := shacl.Load(text, &shacl.Options{MaxResults: 2})
	require.NoError(t, err)
	report, err := shapes.Validate(data)
	require.NoError(t, err)
	require.Equal(t, []int{2, 3, 1}, []int{len(report.Results), report.Violations, report.Omitted()})

	mixed := []byte(prefixes + `ex:W sh:targetSubjectsOf ex:p ; sh:hasValue 1 ; sh:severity sh:Warning .
		ex:Z sh:targetSubjectsOf ex:p ; sh:hasValue 1 .`)
	shapes, err = shacl.Load(mixed, &shacl.Options{MaxResults: 2})
	require.NoError(t, err)
	report, err = shapes.Validate(data)
	require.NoError(t, err)
	require.Equal(t, []int{2, 3, 3, 4}, []int{len(report.Results), report.Violations, report.Warnings, report.Omitted()})
	for _, r := range report.Results {
		require.Equal(t, shacl.Violation, r.Severity, "what decides is listed first")
	}

	shapes, err = shacl.Load(text, &shacl.Options{MaxSteps: 5})
	require.NoError(t, err)
	_, err = shapes.Validate(data)
	require.ErrorIs(t, err, shacl.ErrLimit)
	require.EqualError(t, err, "the validation takes more than 5 steps: shacl: limit exceeded")
	report, err = shapes.Validate(nil)
	require.NoError(t, err, "the next validation begins anew")
	require.True(t, report.Conforms())

	doubled := "ex:S sh:targetNode ex:a ; sh:and (ex:S0 ex:S0) . ex:S40 sh:hasValue ex:a ."
	for i := range 40 {
		doubled += fmt.Sprintf(" ex:S%d sh:and (ex:S%d ex:S%d) .", i, i+1, i+1)
	}
	shapes, err = shacl.Load([]byte(prefixes+doubled), &shacl.Options{MaxSteps: 10000})
	require.NoError(t, err)
	_, err = shapes.Validate(nil)
	require.ErrorIs(t, err, shacl.ErrLimit)
}

func TestShapes_Validate_isSafeForConcurrentUse(t *testing.T) {
	shapes := load(t, `ex:S sh:targetNode ex:a ; sh:path [ sh:inversePath ex:p ] ; sh:maxCount 1 .`)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 50 {
				data := quads(t, strings.Repeat(" ", i)+`ex:b ex:p ex:a . `+map[bool]string{true: `ex:c ex:p ex:a .`}[i%2 == 0])
				report, err := shapes.Validate(data)
				if err != nil || report.Conforms() != (i%2 == 1) {
					t.Errorf("%v %v", report, err)
				}
			}
		})
	}
	group.Wait()
}

func TestLoad_refusesIllFormedShapes(t *testing.T) {
	for text, want := range map[string]string{
		`sh:minCount 1`:                               "sh:minCount needs a property shape",
		`sh:path ex:p ; sh:minCount "1"`:              "expected an integer from 0",
		`sh:path ex:p ; sh:minCount 1, 2`:             "it has 2 values of sh:minCount",
		`sh:path ex:p ; sh:minCont 1 ; sh:class ex:C`: "sh:minCont is not a property of shapes in SHACL Core",
		`sh:sparql [] ; sh:class ex:C`:                "sh:sparql is not a property",
		`sh:path 7 ; sh:class ex:C`:                   "not a property path",
		`sh:path (ex:p) ; sh:class ex:C`:              "at least 2 are needed",
		`sh:path [] ; sh:class ex:C`:                  "neither an IRI",
		`sh:class 7`:                                  "expected an IRI",
		`sh:datatype xsd:int, xsd:long`:               "at most one",
		`sh:nodeKind ex:K`:                            "not a kind of node",
		`sh:minInclusive "x"^^xsd:integer`:            "have no order",
		`sh:pattern "(?=a)"`:                          "lookarounds are not supported",
		`sh:pattern "[a-z-[x]]"`:                      "subtraction",
		`sh:pattern "\\p{IsGreek}"`:                   "named block",
		`sh:pattern "a" ; sh:flags "z"`:               "expected some of",
		`sh:in 7`:                                     "not a well-formed list",
		`sh:closed 7`:                                 "expected true or false",
		`sh:severity 7 ; sh:class ex:C`:               "expected an IRI such as",
		`sh:message 7 ; sh:class ex:C`:                "expected a text",
		`sh:property [ sh:class ex:C ]`:               "which has no sh:path",
		`sh:node [ sh:path ex:p ; sh:minCount 1 ]`:    "which has a sh:path",
		`sh:node ex:S`:                                "refers to itself",
		`sh:not [ sh:node ex:S ]`:                     "refers to itself",
		`a sh:PropertyShape`:                          "needs sh:path",
		`sh:targetClass "C"`:                          "expected an IRI",
		`sh:path ex:p ; sh:qualifiedValueShape []`:    "needs sh:qualifiedMinCount",
	} {
		_, err := shacl.Load([]byte(prefixes+"\nex:S "+text+" ."), nil)
		require.ErrorContains(t, err, want, text)
		var shapeError *shacl.Error
		require.ErrorAs(t, err, &shapeError, text)
		require.Equal(t, 4, shapeError.Line, text)
	}
	_, err := shacl.Load([]byte("ex:S"), nil)
	var syntax *rdf.SyntaxError
	require.ErrorAs(t, err, &syntax)
	_, err = shacl.Load(nil, &shacl.Options{MaxSteps: -1})
	require.ErrorContains(t, err, "none may be below 0")
}

func FuzzLoad(f *testing.F) {
	f.Add(prefixes + `ex:S sh:targetNode ex:a ; sh:path (ex:p [ sh:inversePath ex:q ]) ; sh:pattern "[\\w-]\\d" ; sh:in (1 2) .`)
	f.Add(prefixes + `ex:S sh:targetNode ex:a ; sh:or ([ sh:class ex:C ] [ sh:not [ sh:minInclusive 1.5 ] ]) ; sh:closed true .`)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		shapes, err := shacl.Load([]byte(text), &shacl.Options{MaxSteps: 2000})
		if err == nil {
			_, _ = shapes.Validate([]rdf.Quad{{
				Subject: rdf.NewIRI("http://example.org/a"), Predicate: rdf.NewIRI("http://example.org/p"), Object: rdf.NewLiteral("x"),
			}})
		}
	})
}

func FuzzValidate(f *testing.F) {
	shapes, err := shacl.Load([]byte(prefixes+`ex:S sh:targetSubjectsOf ex:p ; sh:path ex:p ; sh:minInclusive "2000-01-01"^^xsd:date ;
		sh:lessThan ex:q ; sh:datatype xsd:date ; sh:uniqueLang true ; sh:pattern "^\\i\\c*$" .`), &shacl.Options{MaxSteps: 5000})
	require.NoError(f, err)
	f.Add(`<http://example.org/a> <http://example.org/p> "2024-01-01"^^<http://www.w3.org/2001/XMLSchema#date> .`)
	f.Add(`<http://example.org/a> <http://example.org/p> "10:00:00"^^<http://www.w3.org/2001/XMLSchema#time>, "x"@de, 1.5e3 .`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := rdf.NewReader(strings.NewReader(text), rdf.Turtle, &rdf.ReaderOptions{MaxBytes: 4096})
		require.NoError(t, err)
		var all []rdf.Quad
		for q, err := range r.All() {
			if err != nil {
				return
			}
			all = append(all, q)
		}
		_, _ = shapes.Validate(all)
	})
}

// BenchmarkShapes_Validate is a message of 12 statements and a shape of 5 constraints.
func BenchmarkShapes_Validate(b *testing.B) {
	shapes := load(b, `ex:S sh:targetClass ex:Reading ; sh:property [ sh:path ex:p1 ; sh:datatype xsd:integer ; sh:maxInclusive 60 ],
		[ sh:path ex:p2 ; sh:minCount 1 ; sh:maxCount 1 ], [ sh:path ex:p3 ; sh:nodeKind sh:Literal ] .`)
	text := "ex:a a ex:Reading "
	for i := range 11 {
		text += fmt.Sprintf("; ex:p%d %d ", i, i)
	}
	data := quads(b, text+".")
	b.ReportAllocs()
	for b.Loop() {
		if report, err := shapes.Validate(data); err != nil || !report.Conforms() {
			b.Fatal(report, err)
		}
	}
}
