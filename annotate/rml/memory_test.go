package rml_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
)

const (
	// heldPerByte is how many bytes a mapper holds, at the end of a message, for each
	// byte of the message.
	heldPerByte = 16
	// allocatedPerByte is how many bytes are allocated meanwhile. Most are copies of buffers
	// that grow, and can be collected at once.
	allocatedPerByte = 40
	// partedPerByte is how many bytes are allocated for each byte of a message that is mapped
	// in parts, held or not.
	partedPerByte = 4
)

// fill returns a text of about a size: a head, as often as it fits a unit, and a tail.
func fill(size int, head, unit, tail string) []byte {
	return []byte(head + strings.Repeat(unit, (size-len(head)-len(tail))/len(unit)) + tail)
}

// undivided are those of the greedy inputs that are not mapped in parts: they are one record, or
// have one of a quarter of their size, or an iterator that may look anywhere.
var undivided = []string{"JSON, one long text", "JSON, dense at its end", "CSV, columns", "XML, mixed content", "XML, attributes",
	"XML, comments", "XML, references", "XML, texts of parents"}

// greedy are the inputs that take the most memory for their size.
var greedy = map[string]struct {
	formulation, iterator string
	message               func(size int) []byte
}{
	"JSON, empty objects": {"JSONPath", "$[*]", func(n int) []byte { return fill(n, "[{}", ",{}", "]") }},
	"JSON, one array":     {"JSONPath", "$", func(n int) []byte { return fill(n, "[{}", ",{}", "]") }},
	"JSON, digits":        {"JSONPath", "$..*", func(n int) []byte { return fill(n, "[1", ",1", "]") }},
	"JSON, deep arrays":   {"JSONPath", "$..*", func(n int) []byte { return fill(n, "[1", ","+brackets, "]") }},
	"JSON, empty names":   {"JSONPath", "$.*", func(n int) []byte { return fill(n, `{"":1`, `,"":1`, "}") }},
	"JSON, escapes":       {"JSONPath", "$[*]", func(n int) []byte { return fill(n, "[1", `,"\n"`, "]") }},
	"JSON, one long text": {"JSONPath", "$", func(n int) []byte { return fill(n, `{"id":"`, `\n`, `"}`) }},
	"JSON, dense at its end": {"JSONPath", "$[*]", func(n int) []byte {
		return fill(n, `["`+strings.Repeat("x", n/4)+`"`, ",1", "]")
	}},
	"JSON, dense at its start": {"JSONPath", "$[*]", func(n int) []byte {
		return fill(n, "["+strings.Repeat("1,", 3000)+`"`, "x", `"]`)
	}},
	"CSV, columns":           {"CSV", "", func(n int) []byte { return fill(n, "id", ",", "\n") }},
	"CSV, rows of one digit": {"CSV", "", func(n int) []byte { return fill(n, "id\n", "1\n", "") }},
	"CSV, empty cells": {"CSV", "", func(n int) []byte {
		return fill(n, "id"+strings.Repeat(",", 100)+"\n", strings.Repeat(",", 100)+"\n", "")
	}},
	"CSV, quotes":           {"CSV", "", func(n int) []byte { return fill(n, "id\n", "\"\"\"\"\n", "") }},
	"XML, elements":         {"XPath", "//b", func(n int) []byte { return fill(n, "<a>", "<b/>", "</a>") }},
	"XML, mixed content":    {"XPath", "/a", func(n int) []byte { return fill(n, "<a>", "<b/>x", "</a>") }},
	"XML, attributes":       {"XPath", "/a", func(n int) []byte { return fill(n, "<a>", `<b c="" d=""/>`, "</a>") }},
	"XML, comments":         {"XPath", "/a", func(n int) []byte { return fill(n, "<a>", "<!---->x", "</a>") }},
	"XML, references":       {"XPath", "/a", func(n int) []byte { return fill(n, "<a>", "<b>&lt;</b>", "</a>") }},
	"XML, texts of parents": {"XPath", "//a", func(n int) []byte { return nested(n) }},
}

var brackets = strings.Repeat("[", 250) + strings.Repeat("]", 250)

// nested returns elements within elements, whose texts are those of all inside.
func nested(size int) []byte {
	const depth = 16
	inner := strings.Repeat("x<b/>", (size-7*depth)/5)
	return []byte(strings.Repeat("<a>", depth) + inner + strings.Repeat("</a>", depth))
}

func TestMapper_Append_takesAMultipleOfTheBytesOfAMessage(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory")
	}
	for name, c := range greedy {
		t.Run(name, func(t *testing.T) {
			reference := "id"
			if c.iterator == "//a" {
				reference = "string-length(.)"
			}
			m := newMapper(t, prefixes+fmt.Sprintf(`map:M a rr:TriplesMap ; rml:logicalSource [ rml:source [ a carml:Stream ] ;
				rml:referenceFormulation ql:%s ; rml:iterator "%s" ] ; rr:subjectMap [ rr:template "http://a/{%s}" ] ;
				rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rr:constant "x" ] ] .`, c.formulation, c.iterator, reference), nil)
			message := c.message(4 << 20)
			var before, after, held runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			_, err := m.Append(nil, message)
			runtime.ReadMemStats(&after)
			runtime.GC()
			runtime.ReadMemStats(&held)
			t.Logf("%.1f held, %.1f allocated; %.80v", float64(held.HeapAlloc)/float64(len(message))-
				float64(before.HeapAlloc)/float64(len(message)), float64(after.TotalAlloc-before.TotalAlloc)/float64(len(message)), err)
			allocated := partedPerByte
			if slices.Contains(undivided, name) {
				allocated = allocatedPerByte
			}
			require.LessOrEqual(t, held.HeapAlloc, before.HeapAlloc+uint64(heldPerByte*len(message)))
			require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(allocated*len(message)))
			runtime.KeepAlive(m)
		})
	}
}

func TestMapper_Append_refusesAMessageThatTakesTooMuchMemory(t *testing.T) {
	for name, c := range map[string]struct{ formulation, message, reason string }{
		"JSON": {"JSONPath", "[" + strings.Repeat("1,", 1000) + "1]", "more values than the limit of 100"},
		"CSV":  {"CSV", "id,b\n" + strings.Repeat("1,2\n", 1000), "the input has more than 200 cells"},
		"XML":  {"XPath", "<a>" + strings.Repeat("<b/>", 1000) + "</a>", "the input has more than 66 nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMapper(t, prefixes+fmt.Sprintf(`map:M a rr:TriplesMap ; rml:logicalSource [ rml:source [ a carml:Stream ] ;
				rml:referenceFormulation ql:%s ] ; rr:subjectMap [ rr:template "http://a/{id}" ] .`, c.formulation),
				&rml.Options{Limits: rml.Limits{MaxMemory: 2400}})
			_, err := m.Append(nil, []byte(c.message))
			require.ErrorContains(t, err, c.reason)
		})
	}
}
