package rml

import (
	"fmt"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/csvdoc"
	"github.com/iotenablers/enablers/annotate/rml/internal/document"
)

// Mapping is a mapping that was loaded and checked. It is immutable and safe
// for concurrent use.
type Mapping struct {
	maps     []*triplesMap
	prefixes []rdf.Prefix
}

// SourceKind is the kind of place that a logical source is read from.
type SourceKind uint8

// The kinds of source.
const (
	// SourceFile is a file, named relative to the mapping.
	SourceFile SourceKind = iota + 1
	// SourceStream is a CARML stream: the message that is being mapped.
	SourceStream
	// SourceDatabase is a table of a relational database, or the result of a query.
	SourceDatabase
	// SourceEndpoint is the result of a query of a SPARQL endpoint.
	SourceEndpoint
	// SourceThing is an answer of an HTTP API that a Web of Things description describes.
	SourceThing

	sourceView // a logical view: it reads other sources
)

// Formulation is the language of the references into a source.
type Formulation string

// The reference formulations, by the name of their term in the vocabulary.
const (
	JSONPath Formulation = "JSONPath"
	XPath    Formulation = "XPath"
	CSV      Formulation = "CSV"
	SQL      Formulation = "SQL2008" // names of columns
)

// Source is the input side of a logical source. Sources are comparable.
type Source struct {
	// Kind is the kind of place.
	Kind SourceKind
	// Name is the path of a file as the mapping gives it, the name of a stream, which
	// is empty for the unnamed one, the name of a table, empty for a query, or the URL
	// of an endpoint or of an API.
	Name string
	// WorkingDirectory resolves a relative path against the current folder instead
	// of the mapping's folder.
	WorkingDirectory bool
	// Formulation is the format that the references expect.
	Formulation Formulation
	// Encoding is the character encoding of a file or of a message.
	Encoding Encoding
	// Compression is the compression of a file or of a message.
	Compression Compression
	// Query is the SQL query of a database, empty for a table, or the SPARQL query of
	// an endpoint or of a file of RDF.
	Query string
	// Database is the database; zero if the mapping names none.
	Database Database
	// Access says how a source on the web is requested.
	Access Access
}

// String describes the source in a few words.
func (s Source) String() string {
	switch {
	case s.Kind == sourceView:
		return "logical view " + s.Name
	case s.Kind == SourceFile && isWeb(s.Name):
		return fmt.Sprintf("file %q", publicURL(s.Name))
	case s.Kind == SourceFile:
		return fmt.Sprintf("file %q", s.Name)
	case s.Kind == SourceEndpoint:
		return fmt.Sprintf("endpoint %q, query %q", publicURL(s.Name), strings.Join(strings.Fields(s.Query), " "))
	case s.Kind == SourceThing:
		return fmt.Sprintf("thing %q", publicURL(s.Name))
	case s.Kind == SourceDatabase && s.Query != "":
		return fmt.Sprintf("query %q", strings.Join(strings.Fields(s.Query), " "))
	case s.Kind == SourceDatabase:
		return fmt.Sprintf("table %q", s.Name)
	}
	if s.Name == "" {
		return "the unnamed stream"
	}
	return fmt.Sprintf("stream %q", s.Name)
}

// Sources returns the distinct sources that the mapping reads, in the order in
// which the triples maps name them.
func (m *Mapping) Sources() []Source {
	var sources []Source
	seen := make(map[any]bool) // sources, and the views on the way to them
	var walk func(s logicalSource)
	walk = func(s logicalSource) {
		switch {
		case s.view == nil && !seen[s.Source]:
			seen[s.Source] = true
			sources = append(sources, s.Source)
		case s.view != nil && !seen[s.view]:
			seen[s.view] = true
			walk(s.view.on)
			for _, j := range s.view.joins {
				walk(j.parent)
			}
		}
	}
	for _, tm := range m.maps {
		walk(tm.source)
	}
	return sources
}

// triplesMap is one rule: for each record of the source, a subject with its
// predicates and objects.
type triplesMap struct {
	node    node
	vocab   document.Vocabulary
	base    string // of rml:baseIRI; empty for the default
	source  logicalSource
	subject *termMap
	graphs  []*termMap
	classes []*termMap
	poms    []*predicateObjectMap
}

// logicalSource is a source with the way its records are found.
type logicalSource struct {
	Source
	node     node
	vocab    document.Vocabulary
	iterator string
	details  *sourceDetails
	view     *logicalView // when it is one
}

// sourceDetails are the settings that only some formats have.
type sourceDetails struct {
	namespaces []namespace
	// dialect is that of CSV. Its Null is nil if the mapping names no text that stands for no
	// value; other formats have it too.
	dialect csvdoc.Dialect
}

type namespace struct{ prefix, iri string }

type predicateObjectMap struct {
	node       node
	predicates []*termMap
	objects    []*objectMap
	graphs     []*termMap
}

// objectMap is either a term map or a reference to the subjects of another
// triples map.
type objectMap struct {
	term   *termMap
	parent *triplesMap
	joins  []joinCondition
	node   node
}

// joinCondition is true when a value of the child equals a value of the parent.
type joinCondition struct {
	child, parent *termMap // expression maps; only their expression counts
}

// termType is the kind of term that a term map generates.
type termType uint8

const (
	iriTerm termType = iota + 1
	uriTerm
	unsafeIRITerm
	unsafeURITerm
	blankTerm
	literalTerm
)

// termMap generates terms from a record.
type termMap struct {
	node     node
	role     string
	vocab    document.Vocabulary
	kind     expressionKind
	constant rdf.Term
	ref      string
	template []document.Segment
	termType termType
	datatype *termMap
	language *termMap

	call      *functionCall
	condition *termMap
	gather    *gatherMap
	targets   []Target
}

type expressionKind uint8

const (
	noExpression expressionKind = iota // a fresh blank node for each record
	constantExpression
	referenceExpression
	templateExpression
	functionExpression
)
