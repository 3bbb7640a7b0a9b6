package jsondoc_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// observation is the message the engine is measured with: 185 bytes, 11
// members, six of them numbers.
const observation = `{"device":"gw-0417","seq":81542,"ts":"2026-03-14T09:26:53Z","temp":21.75,"hum":48.2,` +
	`"press":1013.25,"co2":612,"batt":3.71,"lat":52.2297,"site":"warehouse-7/north-gate","status":"ok-cal"}`

// observationNames are its members.
var observationNames = []string{"device", "seq", "ts", "temp", "hum", "press", "co2", "batt", "lat", "site", "status"}

// compileAll compiles references or fails the test.
func compileAll(t testing.TB, c input.Compiler, exprs []string) []input.Path {
	t.Helper()
	paths := make([]input.Path, 0, len(exprs))
	for _, e := range exprs {
		p, err := c.CompileReference(e)
		require.NoError(t, err)
		paths = append(paths, p)
	}
	return paths
}

// BenchmarkLoad reads the observation without asking for anything.
func BenchmarkLoad(b *testing.B) {
	_, doc := newDocument(input.Limits{})
	data := []byte(observation)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := doc.Load(data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkObservation reads the observation and fetches its 11 members, as
// the mapping engine does: the aim is 400 ns without allocations.
func BenchmarkObservation(b *testing.B) {
	c, _ := newDocument(input.Limits{})
	paths := compileAll(b, c, observationNames)
	doc := c.NewDocument()
	data := []byte(observation)
	values := make([]input.Value, 0, len(paths))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := doc.Load(data); err != nil {
			b.Fatal(err)
		}
		values = values[:0]
		for _, p := range paths {
			values, _ = doc.Values(values, 0, p)
		}
		if len(values) != len(paths) {
			b.Fatal("a member was not found")
		}
	}
}

// BenchmarkEncodingJSON decodes the same message into a map, for context.
func BenchmarkEncodingJSON(b *testing.B) {
	data := []byte(observation)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		var m map[string]any
		if err := json.Unmarshal(data, &m); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRows reads one text of 1,000 observations, as written by a machine
// and as indented for people, and fetches three members of every row.
func BenchmarkRows(b *testing.B) {
	compact := []byte("[" + strings.Repeat(observation+",", 999) + observation + "]")
	var indented bytes.Buffer
	require.NoError(b, json.Indent(&indented, compact, "", "  "))
	for name, data := range map[string][]byte{"compact": compact, "indented": indented.Bytes()} {
		b.Run(name, func(b *testing.B) {
			c, _ := newDocument(input.Limits{})
			paths := compileAll(b, c, []string{"$[*]", "device", "seq", "status"})
			doc := c.NewDocument()
			var rows []input.Node
			var values []input.Value
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := doc.Load(data); err != nil {
					b.Fatal(err)
				}
				rows, _ = doc.Records(rows[:0], paths[0])
				for _, row := range rows {
					values = values[:0]
					for _, p := range paths[1:] {
						values, _ = doc.Values(values, row, p)
					}
				}
				if len(rows) != 1000 || len(values) != 3 {
					b.Fatal("rows or members were not found")
				}
			}
		})
	}
}
