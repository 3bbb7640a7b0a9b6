package rdf

import (
	"fmt"
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
	JSONLD                 // JSON-LD 1.1, expanded document form; written, not read
	RDFXML                 // RDF 1.1 XML Syntax; written, not read
	RDFJSON                // RDF 1.1 JSON Alternate Serialization (a note); written, not read
)

const formatNames = "ntriples, nquads, turtle, trig, jsonld, rdfxml, rdfjson"

// ParseFormat returns the format with that name. It accepts the names of
// [Format.String] and other usual ones (nt, nq, ttl, json-ld, rdf/xml, rdf/json
// and the like), in any letter case. The name n3 stands for Turtle: every Turtle
// document is one of Notation3.
func ParseFormat(name string) (Format, error) {
	switch strings.ToLower(name) {
	case "ntriples", "n-triples", "nt":
		return NTriples, nil
	case "nquads", "n-quads", "nq":
		return NQuads, nil
	case "turtle", "ttl", "n3":
		return Turtle, nil
	case "trig":
		return TriG, nil
	case "jsonld", "json-ld":
		return JSONLD, nil
	case "rdfxml", "rdf/xml", "rdf-xml":
		return RDFXML, nil
	case "rdfjson", "rdf/json", "rdf-json":
		return RDFJSON, nil
	}
	return 0, fmt.Errorf("parse format %q: not one of %s", name, formatNames)
}

// String returns the name of the format in lower case, such as "nquads".
func (f Format) String() string {
	switch f {
	case NTriples:
		return "ntriples"
	case NQuads:
		return "nquads"
	case Turtle:
		return "turtle"
	case TriG:
		return "trig"
	case JSONLD:
		return "jsonld"
	case RDFXML:
		return "rdfxml"
	case RDFJSON:
		return "rdfjson"
	}
	return fmt.Sprintf("format(%d)", uint8(f))
}

// MediaType returns the media type that the specification of the format names,
// without parameters; it is empty for a value that is no format.
func (f Format) MediaType() string {
	switch f {
	case NTriples:
		return "application/n-triples"
	case NQuads:
		return "application/n-quads"
	case Turtle:
		return "text/turtle"
	case TriG:
		return "application/trig"
	case JSONLD:
		return "application/ld+json"
	case RDFXML:
		return "application/rdf+xml"
	case RDFJSON:
		return "application/rdf+json"
	}
	return ""
}
