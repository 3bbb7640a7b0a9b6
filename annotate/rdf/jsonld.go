package rdf

import "bytes"

// jsonldFull is how many bytes JSON-LD buffers before it writes them.
const jsonldFull = 4 << 20

// jsonldWriter writes documents in JSON-LD.
type jsonldWriter struct{ *tree }

func newJSONLDWriter(*EncoderOptions) writer { return jsonldWriter{newTree()} }

func (w jsonldWriter) append(dst, s, p, o, g []byte) ([]byte, error) {
	w.add(s, p, o, g)
	if w.size() >= jsonldFull {
		dst = w.appendNodes(dst)
	}
	return dst, nil
}

func (w jsonldWriter) appendEnd(dst []byte) []byte {
	dst = w.appendNodes(dst)
	if !w.started {
		dst = append(dst, '[')
	}
	return append(dst, "]\n"...)
}

// appendNodes writes and drops the buffered node objects.
func (t *tree) appendNodes(dst []byte) []byte {
	for g := t.entries[0].first; g != 0; g = t.entries[g].after {
		graph := &t.entries[g]
		if graph.size > 0 {
			dst = append(t.separate(dst), `{"@id":`...)
			dst = appendID(dst, t.term(graph))
			dst = append(dst, `,"@graph":[`...)
		}
		for s := graph.first; s != 0; s = t.entries[s].after {
			switch {
			case graph.size == 0:
				dst = t.separate(dst)
			case s != graph.first:
				dst = append(dst, ',')
			}
			dst = t.appendNode(dst, &t.entries[s])
		}
		if graph.size > 0 {
			dst = append(dst, "]}"...)
		}
	}
	t.clear()
	return dst
}

// separate writes what stands before a top-level object.
func (t *tree) separate(dst []byte) []byte {
	if t.started {
		return append(dst, ",\n"...)
	}
	t.started = true
	return append(dst, '[')
}

func (t *tree) appendNode(dst []byte, node *entry) []byte {
	dst = append(dst, `{"@id":`...)
	dst = appendID(dst, t.term(node))
	for p := node.first; p != 0; p = t.entries[p].after {
		predicate := &t.entries[p]
		if string(t.term(predicate)) == "<"+Type+">" {
			dst = t.appendTypes(dst, predicate)
			continue
		}
		dst = append(dst, ',')
		dst = appendID(dst, t.term(predicate))
		dst = append(dst, ":["...)
		for o := predicate.first; o != 0; o = t.entries[o].after {
			if o != predicate.first {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, t.term(&t.entries[o]))
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// appendTypes writes the objects of rdf:type: nodes under @type, and literals,
// which are not allowed there, under the IRI.
func (t *tree) appendTypes(dst []byte, predicate *entry) []byte {
	for _, literals := range [...]bool{false, true} {
		open := false
		for o := predicate.first; o != 0; o = t.entries[o].after {
			term := t.term(&t.entries[o])
			if bytes.HasPrefix(term, []byte{'"'}) != literals {
				continue
			}
			switch {
			case open:
				dst = append(dst, ',')
			case literals:
				dst = append(dst, `,"`+Type+`":[`...)
			default:
				dst = append(dst, `,"@type":[`...)
			}
			open = true
			if literals {
				dst = appendValue(dst, term)
			} else {
				dst = appendID(dst, term)
			}
		}
		if open {
			dst = append(dst, ']')
		}
	}
	return dst
}

// appendID writes an IRI or a blank node as a JSON string.
func appendID(dst, term []byte) []byte {
	dst = append(dst, '"')
	if len(term) > 1 && term[0] == '<' {
		term = term[1 : len(term)-1]
	}
	dst = append(dst, term...)
	return append(dst, '"')
}

func appendValue(dst, term []byte) []byte {
	if !bytes.HasPrefix(term, []byte{'"'}) {
		dst = append(dst, `{"@id":`...)
		dst = appendID(dst, term)
		return append(dst, '}')
	}
	end := lexicalEnd(term)
	dst = append(dst, `{"@value":`...)
	dst = append(dst, term[:end]...)
	return appendTail(dst, term[end:], `,"@language":"`, `,"@type":`)
}

// appendTail writes what follows the lexical form of a literal, and closes the
// object: a language tag after lang, which ends in a quote, or a datatype after
// datatype.
func appendTail(dst, tail []byte, lang, datatype string) []byte {
	switch {
	case len(tail) > 1 && tail[0] == '@':
		dst = append(dst, lang...)
		dst = append(dst, tail[1:]...)
		dst = append(dst, '"')
	case len(tail) > 4:
		dst = append(dst, datatype...)
		dst = appendID(dst, tail[2:])
	}
	return append(dst, '}')
}
