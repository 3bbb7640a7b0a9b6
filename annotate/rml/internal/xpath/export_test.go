package xpath

import (
	"maps"
	"slices"
	"strings"
)

// samples are arguments by the kind of the parameter.
var samples = map[byte]string{
	's': "'pl'", 'n': "1", 'i': "1", 'd': "1e0", 'a': "1", 'I': "1", 'N': "()", 'D': "xs:date('2024-02-29')",
	'T': "xs:time('12:30:05')", 'M': "xs:dateTime('2024-02-29T12:30:05')", 'U': "xs:dayTimeDuration('PT1H')",
}

// LibraryCalls returns a call of each function of the library, with the required arguments only.
func LibraryCalls() []string {
	var calls []string
	for _, name := range slices.Sorted(maps.Keys(library)) {
		f := library[name]
		args := make([]string, f.required)
		for i := range args {
			args[i] = samples[f.params[i].kind]
		}
		calls = append(calls, name+"("+strings.Join(args, ", ")+")")
	}
	return calls
}

// CompileWhole compiles an expression of which no part is hoisted.
func CompileWhole(source string, o *Options) (*Expression, error) { return parse(source, o) }

// Hoisted returns the number of parts of an expression that are hoisted.
func (x *Expression) Hoisted() int { return x.hoisted }

// Held returns the memory of the values that an evaluator keeps.
func (v *Evaluator) Held() int { return v.held }
