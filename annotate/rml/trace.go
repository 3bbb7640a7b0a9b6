package rml

import "github.com/iotenablers/enablers/annotate/rdf"

// Made is a statement with the part of the mapping that made it.
type Made struct {
	rdf.Quad
	// Node names the predicate-object map, or the subject map for statements of its classes,
	// and Line is its line in the mapping. A statement that several parts make is that of the
	// first one.
	Node string
	Line int
}

// Trace is [Mapper.Quads] for tools that explain a mapping: it says of each statement which
// part of the mapping made it.
func (m *Mapper) Trace(message []byte) ([]Made, error) {
	m.tracing, m.rules = true, nil
	defer func() { m.tracing, m.rules = false, nil }()
	quads, err := m.Quads(message)
	if err != nil {
		return nil, err
	}
	made := make([]Made, len(quads))
	for i, q := range quads {
		made[i] = Made{Quad: q, Node: m.rules[i].name, Line: m.rules[i].line}
	}
	return made, nil
}
