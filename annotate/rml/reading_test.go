package rml_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/unicode"

	"github.com/iotenablers/enablers/annotate/rml"
)

// readingMapping generates a statement from each record with a value of t.
func readingMapping(formulation, iterator, source string) string {
	return fmt.Sprintf(`@prefix rml: <http://w3id.org/rml/> . @prefix ex: <http://example.org/> .
@prefix carml: <http://carml.taxonic.com/carml/> . @prefix csvw: <http://www.w3.org/ns/csvw#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<#M> a rml:TriplesMap ; rml:logicalSource [ rml:source [ %s ] ; rml:referenceFormulation rml:%s ; %s ] ;
  rml:subjectMap [ rml:template "http://ex.org/{id}" ] ;
  rml:predicateObjectMap [ rml:predicate ex:t ; rml:objectMap [ rml:reference "t" ] ] .`, source, formulation, iterator)
}

// mapObjects returns the objects that a mapping generates from a message, with spaces between them.
func mapObjects(t *testing.T, mapping, message string, dialect rml.Dialect) (string, error) {
	t.Helper()
	loaded, err := rml.Load([]byte(mapping), nil)
	if err != nil {
		return "", err
	}
	plan, err := rml.Compile(loaded, &rml.Options{Dialect: dialect, Strict: true})
	if err != nil {
		return "", err
	}
	m := plan.NewMapper()
	quads, err := m.Quads([]byte(message))
	if err != nil {
		return "", err
	}
	var objects []string
	for _, q := range quads {
		objects = append(objects, q.Object.Value)
	}
	var out bytes.Buffer
	require.NoError(t, m.Run(t.Context(), &out, rml.Files{Open: func(rml.Source) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(message)), nil
	}}))
	require.Equal(t, len(quads), bytes.Count(out.Bytes(), []byte("\n")), "a run gives the same")
	return strings.Join(objects, " "), nil
}

func TestLoad_readsHowAStreamIsRead(t *testing.T) {
	for _, c := range []struct{ source, message, want string }{
		{`a carml:Stream ; rml:null "NA"`, "id,t\n1,2\n2,NA\n3,\n", "2 "},
		{`a carml:Stream ; rml:null "NA", ""`, "id,t\n1,2\n2,NA\n3,\n", "2"},
		{`a carml:Stream ; csvw:null "NA" ; rml:null ""`, "id,t\n1,2\n2,NA\n3,\n", "2"},
		{`a carml:Stream`, "id,t\n1,2\n2,NA\n3,\n", "2 NA"},
		{`a carml:Stream ; csvw:dialect [ a csvw:Dialect ; csvw:delimiter ";" ]`, "id;t\n1;2,3\n", "2,3"},
		{`a carml:Stream ; csvw:dialect [ csvw:delimiter "\t" ; csvw:quoteChar "'" ; csvw:commentPrefix "%" ]`, "id\tt\n%\n1\t'2'\n", "2"},
		{`a carml:Stream ; csvw:dialect [ csvw:quoteChar "" ]`, "id,t\n1,\"2\n", `"2`},
		{`a carml:Stream ; csvw:dialect [ csvw:doubleQuote false ]`, "id,t\n1,\"a\\\"b\"\n", `a"b`},
		{`a carml:Stream ; csvw:dialect [ csvw:skipRows 1 ; csvw:header true ; csvw:headerRowCount 1 ]`, "title\nid,t\n1,2\n", "2"},
		{`a carml:Stream ; csvw:dialect [ csvw:trim true ; csvw:skipBlankRows true ]`, "id, t\n,\n1, 2 \n", "2"},
		{`a carml:Stream ; csvw:dialect [ csvw:skipInitialSpace true ]`, "id, t\n1, 2 \n", "2 "},
		{`a carml:Stream ; csvw:dialect [ csvw:encoding "utf-8" ; csvw:lineTerminators "\r\n", "\n" ; csvw:skipColumns 0 ]`, "id,t\n1,2\n", "2"},
		{`a carml:Stream ; rdfs:label "readings" ; csvw:dialect [ rdfs:comment "as exported" ; csvw:delimiter "|" ]`, "id|t\n1|2\n", "2"},
	} {
		got, err := mapObjects(t, readingMapping("CSV", "", c.source), c.message, rml.DialectRML)
		require.NoError(t, err, c.source)
		require.Equal(t, c.want, got, c.source)
	}
	// Without a header the columns have the names of CSVW.
	mapping := readingMapping("CSV", "", `a carml:Stream ; csvw:dialect [ csvw:header false ]`)
	mapping = strings.NewReplacer("{id}", "{_col.1}", `"t"`, `"_col.2"`).Replace(mapping)
	got, err := mapObjects(t, mapping, "1,2\n", rml.DialectRML)
	require.NoError(t, err)
	require.Equal(t, "2", got)
}

func TestLoad_readsWhichTextsOfJSONAndXMLAreNoValue(t *testing.T) {
	const stream = `a carml:Stream ; rml:null "NA", "-1"`
	for _, dialect := range []rml.Dialect{rml.DialectRML, rml.DialectCARML} {
		got, err := mapObjects(t, readingMapping("JSONPath", `rml:iterator "$[*]"`, stream),
			`[{"id": 1, "t": "NA"}, {"id": 2, "t": -1}, {"id": 3, "t": "N"}, {"id": 4, "t": ""}, {"id": "NA", "t": "5"}]`, dialect)
		require.NoError(t, err)
		require.Equal(t, "N ", got)
		got, err = mapObjects(t, readingMapping("XPath", `rml:iterator "/a/b"`, stream),
			`<a><b><id>1</id><t>NA</t></b><b><id>2</id><t>2</t></b></a>`, dialect)
		require.NoError(t, err)
		require.Equal(t, "2", got)
	}
	// A view has no cell for them either.
	got, err := mapObjects(t, `@prefix rml: <http://w3id.org/rml/> . @prefix ex: <http://example.org/> .
<#M> a rml:TriplesMap ; rml:logicalSource [ a rml:LogicalView ; rml:viewOn [ rml:referenceFormulation rml:JSONPath ; rml:iterator "$[*]" ;
      rml:source [ a <http://carml.taxonic.com/carml/Stream> ; rml:null "NA" ] ] ;
    rml:field [ rml:fieldName "t" ; rml:reference "$.t" ] ] ;
  rml:subject ex:s ; rml:predicateObjectMap [ rml:predicate ex:t ; rml:objectMap [ rml:reference "t" ] ] .`,
		`[{"t": "NA"}, {"t": "1"}]`, rml.DialectRML)
	require.NoError(t, err)
	require.Equal(t, "1", got)
}

// pack returns a text in an archive or compressed.
func pack(t *testing.T, compression, text string) string {
	t.Helper()
	var out bytes.Buffer
	gz := gzip.NewWriter(&out)
	switch compression {
	case "gzip":
		_, err := gz.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, gz.Close())
	case "zip":
		archive := zip.NewWriter(&out)
		file, err := archive.Create("text")
		require.NoError(t, err)
		_, err = file.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, archive.Close())
	case "targz":
		archive := tar.NewWriter(gz)
		require.NoError(t, archive.WriteHeader(&tar.Header{Name: "text", Mode: 0o600, Size: int64(len(text)), Typeflag: tar.TypeReg}))
		_, err := archive.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, archive.Close())
		require.NoError(t, gz.Close())
	default:
		return text
	}
	return out.String()
}

func TestMapper_Append_unpacksMessages(t *testing.T) {
	const text = `[{"id": 1, "t": "é"}, {"id": 2, "t": "b"}]`
	utf16, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(text)
	require.NoError(t, err)
	for _, compression := range []string{"gzip", "zip", "targz", "none"} {
		for encoding, plain := range map[string]string{"UTF-8": text, "UTF-16": utf16} {
			mapping := readingMapping("JSONPath", `rml:iterator "$[*]"`,
				`a carml:Stream ; rml:compression rml:`+compression+` ; rml:encoding rml:`+encoding)
			got, err := mapObjects(t, mapping, pack(t, compression, plain), rml.DialectRML)
			require.NoError(t, err)
			require.Equal(t, "é b", got)
		}
	}
}

func TestMapper_Append_boundsWhatAMessageUnpacksTo(t *testing.T) {
	source := func(compression string) *rml.Mapper {
		return newMapper(t, readingMapping("CSV", "", `a carml:Stream ; rml:compression rml:`+compression),
			&rml.Options{Limits: rml.Limits{MaxBytes: 1 << 20}})
	}
	m := source("gzip")
	_, err := m.Append(nil, []byte(pack(t, "gzip", "id,t\n"+strings.Repeat("1,2\n", 1<<20))))
	require.ErrorIs(t, err, rml.ErrLimit)
	require.ErrorContains(t, err, "the message has more than 1048576 bytes when it is unpacked")
	out, err := m.Append(nil, []byte(pack(t, "gzip", "id,t\n1,2\n")))
	require.NoError(t, err)
	require.Contains(t, string(out), `"2"`)
	_, err = m.Append(nil, []byte("id,t\n1,2\n3,4\n"))
	require.ErrorContains(t, err, "unpack: gzip: invalid header")
	cut := pack(t, "gzip", "id,t\n1,2\n")
	_, err = m.Append(nil, []byte(cut[:len(cut)-3]))
	require.ErrorContains(t, err, "unpack: unexpected EOF")
	_, err = source("tarxz").Append(nil, []byte("id,t\n1,2\n"))
	require.ErrorContains(t, err, "a message in rml:tarxz is not unpacked")
}

func TestMapper_RunLines_unpacksTheInput(t *testing.T) {
	m := newMapper(t, readingMapping("JSONPath", `rml:iterator "$"`, `a carml:Stream ; rml:compression rml:gzip`), nil)
	var out bytes.Buffer
	lines := pack(t, "gzip", `{"id": 1, "t": "a"}`+"\n"+`{"id": 2, "t": "b"}`+"\n")
	require.NoError(t, m.RunLines(t.Context(), &out, strings.NewReader(lines)))
	require.Equal(t, 2, strings.Count(out.String(), "\n"))
	_, err := m.Append(nil, []byte(pack(t, "gzip", `{"id": 3, "t": "c"}`)))
	require.NoError(t, err, "a message is packed again")
}

func TestLoad_refusesWhatDoesNotSayHowASourceIsRead(t *testing.T) {
	for _, c := range [][2]string{
		{`a carml:Stream ; carml:url "x.csv"`, "carml:url does not belong here: expected one of streamName, encoding, null"},
		{`a carml:Stream ; rml:path "x.csv"`, "rml:path does not belong here"},
		{`a carml:FileSource ; carml:url "x" ; rml:root "y"`, "rml:root does not belong here: expected one of url,"},
		{`a csvw:Table ; csvw:url "x.csv" ; carml:streamName "x"`, "carml:streamName does not belong here"},
		{
			`a csvw:Table ; csvw:url "x.csv" ; csvw:tableSchema []`,
			"csvw:tableSchema is not known here: expected one of url, null, dialect, of http://www.w3.org/ns/csvw#",
		},
		{`a carml:Stream ; csvw:delimiter ";"`, "csvw:delimiter is not known here: expected one of null, dialect"},
		{
			`a carml:Stream ; csvw:dialect [ csvw:delimeter ";" ]`,
			"csvw:delimeter is not known here: expected one of commentPrefix, delimiter, doubleQuote, encoding,",
		},
		{
			`a carml:Stream ; csvw:dialect [ rml:null "NA" ]`,
			"rml:null does not belong here: expected no property of the mapping language",
		},
		{`a carml:Stream ; csvw:dialect [ csvw:delimiter ";;" ]`, `its csvw:delimiter is ";;": expected one ASCII character`},
		{`a carml:Stream ; csvw:dialect [ csvw:delimiter "é" ]`, "expected one ASCII character"},
		{`a carml:Stream ; csvw:dialect [ csvw:header "no" ]`, `its csvw:header is "no": expected true or false`},
		{`a carml:Stream ; csvw:dialect [ csvw:skipRows "x" ]`, "expected a number of rows"},
		{`a carml:Stream ; csvw:dialect [ csvw:trim "both" ]`, "expected true, false, start or end"},
		{`a carml:Stream ; csvw:dialect [ csvw:skipColumns 1 ]`, "expected 0: columns are not skipped"},
		{`a carml:Stream ; csvw:dialect [ csvw:lineTerminators "#" ]`, "expected a line feed"},
		{`a carml:Stream ; csvw:dialect [ csvw:encoding "koi8-r" ]`, "expected UTF-8 or UTF-16"},
		{`a carml:Stream ; csvw:dialect [ csvw:delimiter ",", ";" ]`, "it has 2 values of csvw:delimiter"},
		{`a carml:Stream ; csvw:dialect [ csvw:delimiter "'" ; csvw:quoteChar "'" ]`, "is the delimiter already"},
		{`a carml:Stream ; csvw:dialect [], [ csvw:delimiter ";" ]`, "it has 2 dialects"},
		{`a carml:Stream ; rml:encoding rml:UTF-32`, "expected rml:UTF-8 or rml:UTF-16"},
		{`a carml:Stream ; rml:compression rml:rar`, "expected rml:none, rml:gzip"},
		{
			`a carml:Stream ; rml:encoding rml:UTF-8 ; csvw:dialect [ csvw:encoding "UTF-16" ]`,
			"its encoding is another one than that of its dialect",
		},
	} {
		_, err := rml.Load([]byte(readingMapping("CSV", "", c[0])), nil)
		require.ErrorContains(t, err, c[1], c[0])
	}
	_, err := rml.Load([]byte(readingMapping("JSONPath", "", `a carml:Stream ; csvw:dialect [ csvw:delimiter ";" ]`)), nil)
	require.ErrorContains(t, err, "it has a csvw:dialect, yet its logical source is not CSV")
	loaded, err := rml.Load([]byte(readingMapping("CSV", "", `a carml:Stream ; csvw:dialect [ csvw:skipRows 1 ]`)), nil)
	require.NoError(t, err)
	_, err = rml.Compile(loaded, &rml.Options{Dialect: rml.DialectCARML})
	require.ErrorContains(t, err, "its csvw:dialect cannot be read in the dialect carml: dialect skip rows")
}
