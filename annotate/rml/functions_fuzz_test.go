package rml_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
)

// FuzzFunctions gives every built-in function any arguments: what comes out is
// valid N-Quads or an error, and neither takes long.
func FuzzFunctions(f *testing.F) {
	f.Add("a,b\tc", "/(.)/", "$1")
	f.Add("2026-01-31T12:00:00Z", "yyyy-MM-dd'T'HH:mm:ssX", "years")
	f.Add("31 Jan 2026", "d MMM yy", "en")
	f.Add(`\uD83D\u{1F600}%41&#x41;"`, "javascript", "0")
	f.Add("-9223372036854775808", "-1", "1e308")
	f.Add("Müller", "cologne", "9999999")
	mappers := make(map[string]*rml.Mapper)
	var names []string
	for _, c := range functionTables() {
		if name := c.function + fmt.Sprint(len(c.args)); mappers[name] == nil && !strings.HasPrefix(c.want, "!") {
			mappers[name] = anyArguments(f, c)
			names = append(names, name)
		}
	}
	slices.Sort(names)
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) || !utf8.ValidString(c) {
			t.Skip("no JSON")
		}
		message, err := json.Marshal(map[string]string{"a0": a, "a1": b, "a2": c})
		require.NoError(t, err)
		for _, name := range names {
			out, err := mappers[name].Append(nil, message)
			if err != nil {
				require.Empty(t, out)
				continue
			}
			readNQuads(t, out)
		}
	})
}

// anyArguments compiles a call with the parameters of a case, bound to a0, a1,
// a2 and a0 again.
func anyArguments(f *testing.F, c functionCase) *rml.Mapper {
	f.Helper()
	namespace, _, _ := strings.Cut(c.function, ":")
	var inputs strings.Builder
	for i := 0; i < len(c.args); i += 2 {
		name := c.args[i].(string)
		if !strings.Contains(name, ":") {
			name = namespace + ":" + name
		}
		fmt.Fprintf(&inputs, `rml:input [ rml:parameter %s ; rml:inputValueMap [ rml:reference "$.a%d" ] ] ; `, name, i/2%3)
	}
	m, err := rml.Load([]byte(functionPrefixes+
		object(`rml:functionExecution [ `+inputs.String()+` rml:function `+c.function+` ]`)), nil)
	require.NoError(f, err)
	plan, err := rml.Compile(m, &rml.Options{Format: rdf.NQuads})
	require.NoError(f, err)
	return plan.NewMapper()
}
