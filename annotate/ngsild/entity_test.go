package ngsild

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const prefixes = "https://e/"

// document writes statements of N-Quads with short names: e:x for <https://e/x>, a for rdf:type,
// and xsd: and geo: for datatypes.
func document(text string) []byte {
	var out strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 3)
		for i, word := range words {
			switch {
			case word == "a":
				word = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
			case strings.HasPrefix(word, "e:"):
				word = "<" + prefixes + word[2:] + ">"
			case i == 2:
				word = strings.Replace(word, "^^xsd:", "^^<"+xsd, 1)
				if word = strings.Replace(word, "^^geo:", "^^<"+geosparql, 1); strings.Contains(word, "^^<") && !strings.HasSuffix(word, ">") {
					word += ">"
				}
			}
			out.WriteString(word + " ")
		}
		out.WriteString(".\n")
	}
	return []byte(out.String())
}

func TestReadEntities_hasEachStatement(t *testing.T) {
	for name, c := range map[string]struct{ document, want string }{
		"values": {`
			e:s a e:T
			e:s e:text "a\"b"
			e:s e:int "-05"^^xsd:integer
			e:s e:big "9007199254740993"^^xsd:long
			e:s e:decimal "+21.50"^^xsd:decimal
			e:s e:exact "0.12345678901234567"^^xsd:decimal
			e:s e:double "1e3"^^xsd:double
			e:s e:nan "NaN"^^xsd:double
			e:s e:bool "1"^^xsd:boolean
			e:s e:wrong "yes"^^xsd:boolean
			e:s e:at "2026-11-24T01:02:03.5+01:00"^^xsd:dateTime
			e:s e:local "2026-11-24T01:02:03"^^xsd:dateTime
			e:s e:day "2026-11-24"^^xsd:date
			e:s e:own "x"^^<https://e/D>`, `[{"id": "https://e/s", "type": "https://e/T",
			"https://e/text": {"type": "Property", "value": "a\"b"},
			"https://e/int": {"type": "Property", "value": -5},
			"https://e/big": {"type": "Property", "value": {"@type": "XSD#long", "@value": "9007199254740993"}},
			"https://e/decimal": {"type": "Property", "value": 21.5},
			"https://e/exact": {"type": "Property", "value": {"@type": "XSD#decimal", "@value": "0.12345678901234567"}},
			"https://e/double": {"type": "Property", "value": 1000},
			"https://e/nan": {"type": "Property", "value": {"@type": "XSD#double", "@value": "NaN"}},
			"https://e/bool": {"type": "Property", "value": true},
			"https://e/wrong": {"type": "Property", "value": {"@type": "XSD#boolean", "@value": "yes"}},
			"https://e/at": {"type": "Property", "value": {"@type": "DateTime", "@value": "2026-11-24T00:02:03.5Z"}},
			"https://e/local": {"type": "Property", "value": {"@type": "XSD#dateTime", "@value": "2026-11-24T01:02:03"}},
			"https://e/day": {"type": "Property", "value": {"@type": "Date", "@value": "2026-11-24"}},
			"https://e/own": {"type": "Property", "value": {"@type": "https://e/D", "@value": "x"}}}]`},
		"several": {`
			e:s e:p "a"
			e:s e:q e:x
			e:s a e:T
			e:s e:p "b"
			e:s a e:U
			e:s e:q e:y
			e:s e:p "b"`, `[{"id": "https://e/s", "type": ["https://e/T", "https://e/U"],
			"https://e/p": [{"type": "Property", "value": "a"}, {"type": "Property", "value": "b", "datasetId": "https://sets/2"}],
			"https://e/q": [{"type": "Relationship", "object": "https://e/x"},
				{"type": "Relationship", "object": "https://e/y", "datasetId": "https://sets/2"}]}]`},
		"languages": {`
			e:s a e:T
			e:s e:p "wind"@en
			e:s e:p "Wind"@de
			e:s e:p "breeze"@en`, `[{"id": "https://e/s", "type": "https://e/T", "https://e/p": [
			{"type": "LanguageProperty", "languageMap": {"en": "wind", "de": "Wind"}},
			{"type": "LanguageProperty", "languageMap": {"en": "breeze"}, "datasetId": "https://sets/2"}]}]`},
		"blank nodes": {`
			_:r e:unit e:degree
			_:r e:inner _:i
			e:s a e:T
			e:s e:result _:r
			e:s e:none _:n
			_:r a e:Result
			_:r e:v "1"^^xsd:int
			_:r e:v "2"^^xsd:int
			_:r e:label "x"@en
			_:i e:p "y"`, `[{"id": "https://e/s", "type": "https://e/T", "https://e/none": {"type": "Property", "value": {}},
			"https://e/result": {"type": "Property", "value": {"@type": "https://e/Result", "https://e/unit": {"@id": "https://e/degree"},
			"https://e/v": [1, 2], "https://e/label": {"@language": "en", "@value": "x"}, "https://e/inner": {"https://e/p": "y"}}}}]`},
		"geometries": {`
			e:s a e:T
			e:s e:a "POINT(13.4 52.5)"^^geo:wktLiteral
			e:s e:b "<http://www.opengis.net/def/crs/EPSG/0/4326> Point Z (52.5 +13.40 1e2)"^^geo:wktLiteral
			e:s e:c "POLYGON ((0 0, 1 0,1 1 , 0 0), (0.1 .2,3. 4,5 6,0.1 .2))"^^geo:wktLiteral
			e:s e:d "MULTIPOINT(1 2,(3 4))"^^geo:wktLiteral
			e:s e:f "{\"type\": \"LineString\", \"coordinates\": [[1,2.50],[3,4]]}"^^geo:geoJSONLiteral
			e:s e:g "MULTIPOLYGON(((0 0,1 0,1 1,0 0)))"^^geo:wktLiteral`, `[{"id": "https://e/s", "type": "https://e/T",
			"https://e/a": {"type": "GeoProperty", "value": {"type": "Point", "coordinates": [13.4, 52.5]}},
			"https://e/b": {"type": "GeoProperty", "value": {"type": "Point", "coordinates": [13.4, 52.5, 100]}},
			"https://e/c": {"type": "GeoProperty", "value": {"type": "Polygon", "coordinates":
				[[[0,0],[1,0],[1,1],[0,0]],[[0.1,0.2],[3,4],[5,6],[0.1,0.2]]]}},
			"https://e/d": {"type": "GeoProperty", "value": {"type": "MultiPoint", "coordinates": [[1,2],[3,4]]}},
			"https://e/f": {"type": "GeoProperty", "value": {"type": "LineString", "coordinates": [[1,2.5],[3,4]]}},
			"https://e/g": {"type": "GeoProperty", "value": {"type": "MultiPolygon", "coordinates": [[[[0,0],[1,0],[1,1],[0,0]]]]}}}]`},
		"entities": {"e:a a e:T\ne:a e:p e:b\ne:b a e:T",
			`[{"id": "https://e/a", "type": "https://e/T", "https://e/p": {"type": "Relationship", "object": "https://e/b"}},
			{"id": "https://e/b", "type": "https://e/T"}]`},
		"nothing": {"", `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			entities, err := readEntities(document(c.document), "https://sets")
			require.NoError(t, err)
			got := []json.RawMessage{}
			for _, e := range entities {
				got = append(got, e.json)
			}
			text, err := json.Marshal(got)
			require.NoError(t, err)
			require.JSONEq(t, strings.ReplaceAll(c.want, "XSD#", xsd), string(text))
		})
	}
}

// What has no form is an error with the statement.
func TestReadEntities_namesTheStatementThatHasNoForm(t *testing.T) {
	for text, want := range map[string]string{
		"e:s e:p \"1\"":                                                   `e/p> "1" . cannot be expressed in NGSI-LD: its subject has no`,
		"e:s a e:T\n_:b e:p \"1\"":                                        `. cannot be expressed in NGSI-LD: its subject is a blank node`,
		"e:s a e:T\n_:b e:p _:c\n_:c e:p _:b":                             "its subject is a blank node that is no value of an entity",
		"e:s a e:T\ne:s e:p _:b\n_:b e:p _:b":                             "its object is a blank node that _:b has as object too",
		"e:s a e:T\ne:s e:p _:b\ne:s e:q _:b":                             "its object is a blank node that <https://e/s> has as object too",
		"e:s a \"T\"":                                                     "a type must be an IRI",
		"e:s a e:T\ne:s e:p _:b\n_:b a _:c":                               "a type must be an IRI",
		"e:s a e:T\ne:s e:p \"1\"\ne:s e:p e:x":                           "it is a Relationship, and another value",
		"e:s a e:T\ne:s e:p \"1\"@en\ne:s e:p \"1\"":                      "it is a Property, and another value",
		"e:s a e:T\ne:s <" + core + "createdAt> \"1\"":                    `"https://uri.etsi.org/ngsi-ld/createdAt" is reserved`,
		"e:s a e:T\ne:s e:p <ngsi-ld:x>":                                  `"ngsi-ld:x" begins as a name of the core @context does`,
		"e:s a e:T\ne:s e:p \"urn:ngsi-ld:null\"":                         `"urn:ngsi-ld:null" stands for no value`,
		"e:s a e:T\ne:s e:p \"POINT M (1 2 3)\"^^geo:wktLiteral":          `a geometry with "M" cannot be expressed in GeoJSON`,
		"e:s a e:T\ne:s e:p \"POINT EMPTY\"^^geo:wktLiteral":              `a geometry with "EMPTY" cannot be expressed`,
		"e:s a e:T\ne:s e:p \"POINT(1)\"^^geo:wktLiteral":                 "a position has 2 or 3 numbers, got 1",
		"e:s a e:T\ne:s e:p \"POINT Z(1 2)\"^^geo:wktLiteral":             "a position has 2 numbers",
		"e:s a e:T\ne:s e:p \"POINT(1 2) x\"^^geo:wktLiteral":             "expected the end",
		"e:s a e:T\ne:s e:p \"CIRCLE(1 2)\"^^geo:wktLiteral":              "not a geometry of NGSI-LD",
		"e:s a e:T\ne:s e:p \"<https://crs> POINT(1 2)\"^^geo:wktLiteral": `its reference system is "https://crs"`,
		"e:s a e:T\n" + `e:s e:p "{\"type\": \"Point\", \"coordinates\": [1, \"2\"]}"^^geo:geoJSONLiteral`: "a position has numbers",
		`e:s a e:T` + "\n" + `e:s e:p "{\"type\": \"Point\", \"crs\": 1}"^^geo:geoJSONLiteral`:             `unknown field "crs"`,
		`e:s a e:T` + "\n" + `e:s e:p "{\"type\": \"Circle\"}"^^geo:geoJSONLiteral`:                        `the type is "Circle"`,
	} {
		_, err := readEntities(document(text), "https://sets")
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, "the statement ", text)
	}
	_, err := readEntities([]byte("<https://e/s> <https://e/p> \"1\" <https://e/g> ."), "https://sets")
	require.ErrorContains(t, err, "NGSI-LD has no named graphs")
	_, err = readEntities([]byte("{"), "https://sets")
	require.ErrorContains(t, err, "the output is not N-Quads")
	deep := "e:s a e:T\ne:s e:p _:b0\n"
	for i := range maxDepth + 1 {
		deep += fmt.Sprintf("_:b%d e:p _:b%d\n", i, i+1)
	}
	_, err = readEntities(document(deep), "https://sets")
	require.ErrorContains(t, err, "nested deeper than 64")
}

// An entity is JSON with an identifier and a type, whatever the graph is.
func FuzzReadEntities(f *testing.F) {
	f.Add(document("e:s a e:T\ne:s e:p _:b\n_:b e:q \"1\"@en\ne:s e:g \"POINT(1 2)\"^^geo:wktLiteral"))
	f.Add(document("e:s a e:T\n_:b e:p _:b\ne:s e:d \"2026-11-24T01:02:03Z\"^^xsd:dateTime\ne:s e:d \"1e400\"^^xsd:double"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 4096 {
			return
		}
		entities, err := readEntities(text, "https://sets")
		if err != nil {
			return
		}
		for _, e := range entities {
			var o struct {
				ID   string
				Type any
			}
			if err := json.Unmarshal(e.json, &o); err != nil || o.ID != e.id || o.Type == nil {
				t.Fatalf("%v: %s", err, e.json)
			}
		}
	})
}

// A geometry is one of GeoJSON with the coordinates of its type.
func FuzzReadWKT(f *testing.F) {
	f.Add("<http://www.opengis.net/def/crs/EPSG/0/4326> MULTIPOINT Z ((1 2 3), (4 5 6))")
	f.Add("POLYGON((0 0,1 0,1 1,0 0))")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		g, err := readWKT(text)
		if err != nil {
			return
		}
		encoded, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := readGeoJSON(string(encoded)); err != nil || again.Type != g.Type {
			t.Fatalf("%v: %s", err, encoded)
		}
	})
}
