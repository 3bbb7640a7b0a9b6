package rml

import (
	"slices"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// AppendQuads appends statements to dst as [Mapper.Append] writes them: as one document in the
// format of the plan, with its prefixes. With [Mapper.Quads] it is Append for programs that
// look at the statements in between. In a format without named graphs the statements of all
// graphs are written, each once. On an error, which is a [*MessageError], it returns dst
// unchanged. The statements are not kept.
func (m *Mapper) AppendQuads(dst []byte, quads []rdf.Quad) ([]byte, error) {
	var seen map[rdf.Quad]bool // without their graphs
	if m.plan.graphless && slices.ContainsFunc(quads, func(q rdf.Quad) bool { return !q.Graph.IsZero() }) {
		seen = make(map[rdf.Quad]bool, len(quads))
	}
	out := dst
	for _, q := range quads {
		if seen != nil {
			if q.Graph = (rdf.Term{}); seen[q] {
				continue
			}
			seen[q] = true
		}
		out = m.encoder.Append(out, q)
	}
	return m.endDocument(dst, out)
}
