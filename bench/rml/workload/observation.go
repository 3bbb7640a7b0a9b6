package workload

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// The formats of observations.
const (
	JSON   = "JSON"
	NDJSON = "NDJSON"
	CSV    = "CSV"
	XML    = "XML"
)

// observationFields are the members of an observation, with their datatypes.
func observationFields() []predicateMap {
	return []predicateMap{
		{"device", ""}, {"seq", "integer"}, {"ts", "dateTime"}, {"temp", "decimal"}, {"hum", "decimal"},
		{"press", "decimal"}, {"lat", "decimal"}, {"lon", "decimal"}, {"batt", "integer"}, {"status", ""}, {"note", ""},
	}
}

// observationStatements is how many statements one observation gives: one a
// field and its class.
const observationStatements = 12

// messageRow is the number of the observation that is mapped again and again;
// as JSON it has 185 bytes.
const messageRow = 83624

// observation returns the values of observation number i. Every decimal ends
// in a digit other than zero and has a fraction, so that an engine that reads
// it as a number writes the same digits.
func observation(i int) []string {
	decimal := func(whole, step, digits int) string {
		scale := 1
		for range digits - 1 {
			scale *= 10
		}
		return fmt.Sprintf("%d.%0*d", whole, digits, i*step%scale*10+1+i%9)
	}
	statuses := []string{"ok", "ok", "low", "hot"}
	return []string{
		fmt.Sprintf("sensor-%04d", i%5000),
		fmt.Sprint(100000 + i),
		time.Unix(1773480413+int64(i), 0).UTC().Format(time.RFC3339),
		decimal(15+i%17, 37, 3),
		decimal(40+i%31, 1, 1),
		decimal(990+i%40, 3, 2),
		decimal(52+i%3, 977, 5),
		decimal(21+i%5, 117, 4),
		fmt.Sprint(100 - i%64),
		statuses[i%len(statuses)],
		fmt.Sprintf("north corridor %d", i%9),
	}
}

func quoted(datatype string) bool { return datatype == "" || datatype == "dateTime" }

// appendObservation appends observation i as JSON, as a row of CSV or as XML.
func appendObservation(dst []byte, format string, i int) []byte {
	values := observation(i)
	if format == CSV {
		return append(append(dst, strings.Join(values, ",")...), '\n')
	}
	for f, field := range observationFields() {
		switch {
		case format == XML:
			dst = fmt.Appendf(dst, "<%s>%s</%[1]s>", field.column, values[f])
			continue
		case f > 0:
			dst = append(dst, ',')
		}
		if quoted(field.datatype) {
			dst = fmt.Appendf(dst, "%q:%q", field.column, values[f])
		} else {
			dst = fmt.Appendf(dst, "%q:%s", field.column, values[f])
		}
	}
	return dst
}

func observationHeader() string {
	var names []string
	for _, f := range observationFields() {
		names = append(names, f.column)
	}
	return strings.Join(names, ",") + "\n"
}

// writeObservations writes a document with n observations, the first of them
// observation number first.
func writeObservations(w io.Writer, format string, first, n int) error {
	begin, before, between, after, end := "[", "{", ",\n", "}", "]\n"
	switch {
	case format == NDJSON:
		begin, between, end = "", "\n", "\n"
	case format == CSV:
		begin, before, between, after, end = observationHeader(), "", "", "", ""
	case format == XML:
		begin, before, between, after, end = "<r>", "<o>", "\n", "</o>", "</r>\n"
	}
	buf := []byte(begin)
	for i := range n {
		if i > 0 {
			buf = append(buf, between...)
		}
		buf = append(buf, before...)
		buf = appendObservation(buf, format, first+i)
		buf = append(buf, after...)
		if len(buf) > 1<<16 {
			if _, err := w.Write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	_, err := w.Write(append(buf, end...))
	return err
}

func observationMapping(source, formulation string, fields []predicateMap) string {
	return prefixes + triplesMap("Observation", source, formulation, "http://example.com/obs/{device}/{seq}",
		"ex:Observation", fields)
}

// inputFormat is how one format is read.
type inputFormat struct{ name, formulation, one, many string }

func inputFormats() []inputFormat {
	return []inputFormat{
		{JSON, "JSONPath", ` ; rml:iterator "$"`, ` ; rml:iterator "$[*]"`},
		{CSV, "CSV", "", ""},
		{XML, "XPath", ` ; rml:iterator "/o"`, ` ; rml:iterator "/r/o"`},
	}
}

func messages() []Case {
	var cases []Case
	for _, f := range inputFormats() {
		file := MessageFile(f.name)
		cases = append(cases, Case{
			Group: Message, Name: "message-" + strings.ToLower(f.name),
			Sources:    []Source{{file, func(w io.Writer) error { return writeMessage(w, f.name) }}},
			Mapping:    observationMapping(fmt.Sprintf("%q", file)+f.one, f.formulation, observationFields()),
			Stream:     observationMapping("[ a carml:Stream ]"+f.one, f.formulation, observationFields()),
			Statements: observationStatements,
		})
	}
	return cases
}

// MessageFile is the name of the file that holds the message in a format.
func MessageFile(format string) string { return "message." + strings.ToLower(format) }

func writeMessage(w io.Writer, format string) error {
	before, after := "{", "}"
	switch format {
	case CSV:
		before, after = observationHeader(), ""
	case XML:
		before, after = "<o>", "</o>"
	}
	_, err := w.Write(append(appendObservation([]byte(before), format, messageRow), after...))
	return err
}

func batches(s Sizes) []Case {
	var cases []Case
	for _, f := range inputFormats() {
		cases = append(cases, batch(f, s.Batch))
		if f.name == XML && s.Axis != s.Batch { // some engines take minutes for the whole
			cases = append(cases, batch(f, s.Axis))
		}
	}
	return cases
}

func batch(f inputFormat, rows int) Case {
	file := "data." + strings.ToLower(f.name)
	return Case{
		Group: Batch, Name: fmt.Sprintf("batch-%s-%d", strings.ToLower(f.name), rows),
		Sources:    []Source{{file, func(w io.Writer) error { return writeObservations(w, f.name, 0, rows) }}},
		Mapping:    observationMapping(fmt.Sprintf("%q", file)+f.many, f.formulation, observationFields()),
		Statements: observationStatements * rows,
	}
}

// StreamStatements is how many statements the mappings of Stream make of one row.
const StreamStatements = 2

// Stream returns a mapping of few statements a row and the writer of its source,
// about size bytes in a format, with the number of its rows. The mapping of NDJSON
// reads a carml:Stream, the others a file such as data.csv.
func Stream(format string, size int64) (mapping string, source Source, rows int) {
	between := map[string]string{JSON: "{},\n", NDJSON: "{}\n", XML: "<o></o>\n"}[format]
	sample := len(appendObservation(nil, format, messageRow)) + len(between)
	rows = int(size / int64(sample))
	logical, formulation := `[ a carml:Stream ] ; rml:iterator "$"`, "JSONPath"
	for _, f := range inputFormats() {
		if f.name == format {
			logical, formulation = fmt.Sprintf(`"data.%s"`, strings.ToLower(format))+f.many, f.formulation
		}
	}
	mapping = observationMapping(logical, formulation, []predicateMap{{"temp", "decimal"}})
	return mapping, Source{"data." + strings.ToLower(format), func(w io.Writer) error {
		return writeObservations(w, format, 0, rows)
	}}, rows
}
