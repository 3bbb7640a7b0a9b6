package rdf

import (
	"fmt"
	"slices"
	"strings"
)

// Format is one of the concrete syntaxes of RDF that this package supports. The
// zero Format is NTriples.
type Format uint8

// The formats, with the W3C recommendation that defines each.
const (
	NTriples Format = iota // RDF 1.1 N-Triples
	NQuads                 // RDF 1.1 N-Quads
	Turtle                 // RDF 1.1 Turtle
	TriG                   // RDF 1.1 TriG
	JSONLD                 // JSON-LD 1.1, expanded document form
	RDFXML                 // RDF 1.1 XML Syntax
	RDFJSON                // RDF 1.1 JSON Alternate Serialization (a note)
)

// Syntax describes a [Format].
type Syntax struct {
	// Name is the name in lower case, as [Format.String] returns it.
	Name string
	// Aliases are further names that [ParseFormat] accepts, in lower case.
	Aliases []string
	// Identifier is the local name of the format below http://www.w3.org/ns/formats/.
	Identifier string
	// MediaType is registered for the format; it has no parameters.
	MediaType string
	// Extension is that of file names, with the dot.
	Extension string
	// Lines reports whether each statement is a line of its own.
	Lines bool
	// NamedGraphs reports whether a document can have graphs besides the default graph.
	NamedGraphs bool
	// Readable reports whether [NewReader] supports the format.
	Readable bool
	// Partial reports whether an [Encoder] can leave out statements; see [Encoder.Err].
	Partial bool

	newWriter func(*EncoderOptions) writer
}

// syntaxes describes every format, at its index. A new format is a constant, a row
// and a writer.
var syntaxes = [...]Syntax{
	NTriples: {
		Name: "ntriples", Aliases: []string{"n-triples", "nt"}, Identifier: "N-Triples",
		MediaType: "application/n-triples", Extension: ".nt",
		Lines: true, Readable: true,
		newWriter: newLineWriter,
	},
	NQuads: {
		Name: "nquads", Aliases: []string{"n-quads", "nq"}, Identifier: "N-Quads",
		MediaType: "application/n-quads", Extension: ".nq",
		Lines: true, NamedGraphs: true, Readable: true,
		newWriter: newLineWriter,
	},
	Turtle: {
		Name: "turtle", Aliases: []string{"ttl", "n3"}, Identifier: "Turtle",
		MediaType: "text/turtle", Extension: ".ttl",
		Readable:  true,
		newWriter: newTurtleWriter,
	},
	TriG: {
		Name: "trig", Identifier: "TriG",
		MediaType: "application/trig", Extension: ".trig",
		NamedGraphs: true, Readable: true,
		newWriter: newTurtleWriter,
	},
	JSONLD: {
		Name: "jsonld", Aliases: []string{"json-ld"}, Identifier: "JSON-LD",
		MediaType: "application/ld+json", Extension: ".jsonld",
		NamedGraphs: true,
		newWriter:   newJSONLDWriter,
	},
	RDFXML: {
		Name: "rdfxml", Aliases: []string{"rdf/xml", "rdf-xml"}, Identifier: "RDF_XML",
		MediaType: "application/rdf+xml", Extension: ".rdf",
		Partial:   true,
		newWriter: newXMLWriter,
	},
	RDFJSON: {
		Name: "rdfjson", Aliases: []string{"rdf/json", "rdf-json"}, Identifier: "RDF_JSON",
		MediaType: "application/rdf+json", Extension: ".rj",
		Partial:   true,
		newWriter: newRDFJSONWriter,
	},
}

// Formats returns every format.
func Formats() []Format {
	formats := make([]Format, len(syntaxes))
	for i := range formats {
		formats[i] = Format(i)
	}
	return formats
}

// FormatNames lists the names of the formats whose syntax matches, or of all if
// match is nil.
func FormatNames(match func(Syntax) bool) string {
	var names []string
	for _, s := range syntaxes {
		if match == nil || match(s) {
			names = append(names, s.Name)
		}
	}
	return strings.Join(names, ", ")
}

// ParseFormat returns the format with that name. It accepts the names of
// [Format.String] and [Syntax.Aliases], in any letter case. The name n3 stands for
// Turtle: every Turtle document is one of Notation3.
func ParseFormat(name string) (Format, error) {
	lower := strings.ToLower(name)
	for i, s := range syntaxes {
		if s.Name == lower || slices.Contains(s.Aliases, lower) {
			return Format(i), nil
		}
	}
	return 0, fmt.Errorf("parse format %q: expected one of %s", name, FormatNames(nil))
}

// Syntax returns the description of the format. It is zero for a value that is not
// a format.
func (f Format) Syntax() Syntax {
	if int(f) >= len(syntaxes) {
		return Syntax{}
	}
	return syntaxes[f]
}

// String returns the name of the format in lower case, such as "nquads".
func (f Format) String() string {
	if int(f) >= len(syntaxes) {
		return fmt.Sprintf("format(%d)", uint8(f))
	}
	return syntaxes[f].Name
}
