package rdf

import (
	"fmt"
	"strings"
)

// Format is one of the concrete syntaxes of RDF that this package knows. The
// zero Format is NTriples.
type Format uint8

// The formats, with the W3C recommendation that defines each.
const (
	NTriples Format = iota // RDF 1.1 N-Triples
	NQuads                 // RDF 1.1 N-Quads
	Turtle                 // RDF 1.1 Turtle
	TriG                   // RDF 1.1 TriG
	JSONLD                 // JSON-LD 1.1, expanded document form; written, not read
)

const formatNames = "ntriples, nquads, turtle, trig, jsonld"

// ParseFormat returns the format with that name. It takes the names that
// [Format.String] gives and the usual short ones (nt, nq, ttl, json-ld), in any
// letter case.
func ParseFormat(name string) (Format, error) {
	switch strings.ToLower(name) {
	case "ntriples", "n-triples", "nt":
		return NTriples, nil
	case "nquads", "n-quads", "nq":
		return NQuads, nil
	case "turtle", "ttl":
		return Turtle, nil
	case "trig":
		return TriG, nil
	case "jsonld", "json-ld":
		return JSONLD, nil
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
	}
	return fmt.Sprintf("format(%d)", uint8(f))
}

// MediaType returns the registered media type of the format, without
// parameters; it is empty for a value that is no format.
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
	}
	return ""
}
