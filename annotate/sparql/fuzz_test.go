package sparql

import (
	"bytes"
	"testing"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// What is written into an update is N-Triples with the same number of statements, which has no
// way out of its graph.
func FuzzAppendStatements(f *testing.F) {
	f.Add([]byte("<https://e/s> <https://e/p> \"a\\\\u0022 } ; DROP ALL\" .\n_:a <https://e/p> \"b\"@en .\n"))
	f.Add([]byte(`<https://e/\u003E> <https://e/p> "\u0000"^^<https://e/d> .`))
	f.Fuzz(func(t *testing.T, document []byte) {
		if len(document) > 4096 {
			return
		}
		written, err := appendStatements(nil, document, "m1b")
		if err != nil {
			return
		}
		count := func(text []byte) (n int) {
			reader, err := rdf.NewReader(bytes.NewReader(text), rdf.NQuads, &rdf.ReaderOptions{MaxBytes: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range reader.All() {
				if err != nil {
					t.Fatalf("%v in %q", err, text)
				}
				n++
			}
			return n
		}
		if a, b := count(document), count(written); a != b {
			t.Fatalf("%d statements became %d: %q", a, b, written)
		}
	})
}
