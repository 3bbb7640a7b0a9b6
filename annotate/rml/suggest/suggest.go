package suggest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Format is the format of a message.
type Format string

// The formats.
const (
	JSON Format = "JSON"
	CSV  Format = "CSV"
	XML  Format = "XML"
)

// MaxSample is the largest sample in bytes.
const MaxSample = 1 << 20

// The limits of one suggestion. Beyond them a mapping is better written with tools.
const (
	maxDepth  = 16
	maxValues = 300 // of one record
	maxTables = 30  // kinds of records
)

// ErrEmpty reports a sample without a record that has a value.
var ErrEmpty = errors.New("suggest: the sample has no record with a value")

// Options changes [Mapping]. The zero value is ready for use.
type Options struct {
	// Format is the format of the sample. Empty means that it is detected.
	Format Format
	// Namespace begins the IRIs of classes and properties. Empty means
	// http://example.org/vocabulary#.
	Namespace string
	// Base begins the IRIs of subjects. Empty means http://example.org/.
	Base string
}

// Suggestion is a first mapping.
type Suggestion struct {
	// Format is that of the sample.
	Format Format
	// Mapping is the mapping, in Turtle.
	Mapping string
}

// Mapping suggests a mapping for messages like the sample. Errors say where the sample cannot
// be read, or match [ErrEmpty]. opts may be nil.
func Mapping(sample []byte, opts *Options) (Suggestion, error) {
	if opts == nil {
		opts = &Options{}
	}
	o := *opts
	if o.Namespace == "" {
		o.Namespace = "http://example.org/vocabulary#"
	}
	if o.Base == "" {
		o.Base = "http://example.org/"
	}
	for name, iri := range map[string]string{"Namespace": o.Namespace, "Base": o.Base} {
		if !strings.Contains(iri, ":") || strings.ContainsAny(iri, " <>\"{}|\\^`\r\n\t") {
			return Suggestion{}, fmt.Errorf("suggest: Options.%s: %q must be an IRI that others begin with", name, iri)
		}
	}
	if len(sample) > MaxSample {
		return Suggestion{}, fmt.Errorf("suggest: the sample has %d bytes, %d at most", len(sample), MaxSample)
	}
	sample = bytes.TrimPrefix(sample, []byte("\ufeff"))
	if o.Format == "" {
		o.Format = recognise(sample)
	}
	var found []table
	var err error
	switch o.Format {
	case JSON:
		found, err = readJSON(sample)
	case CSV:
		found, err = readCSV(sample)
	case XML:
		found, err = readXML(sample)
	default:
		return Suggestion{}, fmt.Errorf("suggest: Options.Format: %q: expected JSON, CSV or XML", o.Format)
	}
	if err != nil {
		return Suggestion{}, fmt.Errorf("suggest: read the sample as %s: %w", o.Format, err)
	}
	found = worthwhile(found)
	if len(found) == 0 {
		return Suggestion{}, ErrEmpty
	}
	return Suggestion{Format: o.Format, Mapping: write(found, o)}, nil
}

// recognise returns the format that a sample most likely has.
func recognise(sample []byte) Format {
	text := bytes.TrimSpace(sample)
	switch {
	case len(text) > 0 && (text[0] == '{' || text[0] == '['):
		return JSON
	case len(text) > 0 && text[0] == '<':
		return XML
	}
	return CSV
}

// table is one kind of record of the message.
type table struct {
	name       string // of the class, before it is a term
	iterator   string // empty for CSV
	columns    []column
	excluded   map[string]bool // references that select more than a value in some record
	leftOut    int             // values beyond the limit
	namespaces [][2]string     // prefix and name, of XML
}

// column is one value of a record.
type column struct {
	name      string // of the property, before it is a term
	reference string
	kind      kind
}

// add adds a column, or widens the kind of one that is there.
func (t *table) add(name, reference string, k kind) {
	for i := range t.columns {
		if t.columns[i].reference == reference {
			t.columns[i].kind = t.columns[i].kind.with(k)
			return
		}
	}
	if len(t.columns) >= maxValues {
		t.leftOut++
		return
	}
	t.columns = append(t.columns, column{name, reference, k})
}

// exclude takes a reference out: in some record it selects an object or an array.
func (t *table) exclude(reference string) {
	if t.excluded == nil {
		t.excluded = map[string]bool{}
	}
	t.excluded[reference] = true
}

// worthwhile returns the tables that have a value.
func worthwhile(all []table) []table {
	var kept []table
	for _, t := range all {
		t.columns = slices.DeleteFunc(t.columns, func(c column) bool { return t.excluded[c.reference] })
		if len(t.columns) > 0 && len(kept) < maxTables {
			kept = append(kept, t)
		}
	}
	return kept
}
