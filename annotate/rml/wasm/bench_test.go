package wasm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/wasm"
)

// BenchmarkFunction maps a message that calls one function: a built-in one, and the same as a module
// of testdata and as a module that the go command builds. The functions differ in letters beyond ASCII.
func BenchmarkFunction(b *testing.B) {
	file := filepath.Join(b.TempDir(), "text.wasm")
	build := exec.Command("go", "build", "-buildmode=c-shared", "-o", file, "../../../examples/functions/text")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(b, err, string(output))
	inGo, err := os.ReadFile(file)
	require.NoError(b, err)
	const grel, own = "http://users.ugent.be/~bjdmeest/function/grel.ttl#", "http://example.com/functions#"
	for _, c := range []struct {
		name, function, parameter string
		module                    []byte
	}{
		{"built-in", grel + "toUpperCase", grel + "valueParameter", nil},
		{"wasm", ns + "upper", ns + "text", stored(b)},
		{"wasm-go", own + "upper", own + "text", inGo},
	} {
		opts := &rml.Options{}
		if c.module != nil {
			module, err := wasm.Compile(b.Context(), c.module, &wasm.Options{CompileTime: 10 * time.Minute})
			require.NoError(b, err)
			b.Cleanup(func() { require.NoError(b, module.Close()) })
			opts.Functions = module.Functions()
		}
		mapping, err := rml.Load([]byte(`@prefix rml: <http://w3id.org/rml/> . @prefix ex: <http://example.com/> .
ex:M `+source+`
  rml:subject ex:s ; rml:predicateObjectMap [ rml:predicate ex:p ; rml:objectMap [ rml:functionExecution [ rml:function <`+c.function+
			`> ; rml:input [ rml:parameter <`+c.parameter+`> ; rml:inputValueMap [ rml:reference "$.v" ] ] ] ] ] .`), nil)
		require.NoError(b, err)
		plan, err := rml.Compile(mapping, opts)
		require.NoError(b, err)
		b.Run(c.name, func(b *testing.B) {
			mapper, message := plan.NewMapper(), []byte(`{"v":"the quick brown fox jumps over the lazy dog"}`)
			var out []byte
			b.ReportAllocs()
			for b.Loop() {
				var err error
				out, err = mapper.Append(out[:0], message)
				require.NoError(b, err)
			}
			require.Contains(b, string(out), "THE QUICK BROWN FOX")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}
