package rdf_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
)

func TestEncoder_writesOneRDFJSONMemberForEachSubject(t *testing.T) {
	want := `{"http://example.org/s":{"http://www.w3.org/1999/02/22-rdf-syntax-ns#type":[{"type":"uri","value":"http://example.org/T"}],
"http://example.org/p":[{"type":"literal","value":"a"},{"type":"literal","value":"b","lang":"en"},{"type":"literal","value":"c"}],
"http://example.org/q":[{"type":"literal","value":"1","datatype":"http://www.w3.org/2001/XMLSchema#integer"}]},
"_:b":{"http://example.org/p":[{"type":"uri","value":"http://example.org/a/b"},{"type":"uri","value":"http://example.org/s"}],
"http://example.org/q":[{"type":"literal","value":"x\"\\\n"}]}}
`
	require.Equal(t, want, encode(t, rdf.RDFJSON, nil, mixed+mixed))
}

func TestEncoder_boundsTheMemoryOfRDFJSON(t *testing.T) {
	e, err := rdf.NewEncoder(rdf.RDFJSON, &rdf.EncoderOptions{MaxBytes: 10_000})
	require.NoError(t, err)
	quad := func(i int) rdf.Quad {
		return rdf.Quad{Subject: rdf.NewIRI(fmt.Sprint(ex, i)), Predicate: rdf.NewIRI(ex + "p"), Object: rdf.NewLiteral("v")}
	}
	written := 0
	for ; e.Err() == nil; written++ {
		require.Empty(t, e.Append(nil, quad(written)))
		require.Less(t, written, 1000)
	}
	require.ErrorIs(t, e.Err(), rdf.ErrLimit)
	require.EqualError(t, e.Err(),
		fmt.Sprintf("write statement about <%s%d> in rdfjson: the document takes more than 10000 bytes: rdf: limit "+
			"exceeded", ex, written-1))
	first := e.Err()
	e.Append(nil, quad(-1))
	got := readRDFJSON(t, e.AppendEnd(nil))
	require.Len(t, got, written-1, "what fits is written")
	require.Equal(t, first, e.Err(), "it can be asked for when the document is closed")

	e.Append(nil, quad(0))
	require.NoError(t, e.Err(), "the next document starts afresh")
	require.Len(t, readRDFJSON(t, e.AppendEnd(nil)), 1)
}

// readRDFJSON reads a document of the RDF 1.1 JSON Alternate Serialization. It
// refuses keys that come twice.
func readRDFJSON(t testing.TB, data []byte) []rdf.Quad {
	t.Helper()
	requireUniqueKeys(t, data)
	var subjects map[string]map[string][]map[string]string
	require.NoError(t, json.Unmarshal(data, &subjects), "%s", data)
	node := func(value string) rdf.Term {
		if label, ok := strings.CutPrefix(value, "_:"); ok {
			return rdf.NewBlank(label)
		}
		return rdf.NewIRI(value)
	}
	var quads []rdf.Quad
	for subject, predicates := range subjects {
		for predicate, objects := range predicates {
			for _, o := range objects {
				q := rdf.Quad{Subject: node(subject), Predicate: rdf.NewIRI(predicate), Object: node(o["value"])}
				switch o["type"] {
				case "uri":
					require.Equal(t, rdf.IRI, q.Object.Kind)
				case "bnode":
					require.Equal(t, rdf.Blank, q.Object.Kind)
				case "literal":
					q.Object = rdf.NewTyped(o["value"], o["datatype"])
					q.Object.Lang = o["lang"]
					require.LessOrEqual(t, len(o), 3)
				default:
					require.Fail(t, "unknown type", o["type"])
				}
				quads = append(quads, q)
			}
		}
	}
	return quads
}

func requireUniqueKeys(t testing.TB, data []byte) {
	t.Helper()
	type level struct {
		keys  map[string]bool // nil in an array
		value bool            // a value follows
	}
	levels := []level{{}}
	for decoder := json.NewDecoder(bytes.NewReader(data)); ; {
		token, err := decoder.Token()
		if err != nil {
			require.Len(t, levels, 1)
			return
		}
		top := &levels[len(levels)-1]
		switch delim, _ := token.(json.Delim); {
		case delim == '}' || delim == ']':
			levels = levels[:len(levels)-1]
			continue
		case top.keys != nil && !top.value:
			key := token.(string)
			require.False(t, top.keys[key], "%q twice", key)
			top.keys[key], top.value = true, true
			continue
		case delim == '{':
			top.value = false
			levels = append(levels, level{keys: map[string]bool{}})
		case delim == '[':
			top.value = false
			levels = append(levels, level{})
		default:
			top.value = false
		}
	}
}
