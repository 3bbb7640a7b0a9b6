package rdf

import (
	"bytes"
	"cmp"
	"fmt"
)

// defaultMaxTree is the default of [EncoderOptions.MaxBytes].
const defaultMaxTree = 64 << 20

// rdfjsonWriter writes documents in RDF/JSON: one object that maps subjects to
// predicates, and these to arrays of objects.
type rdfjsonWriter struct {
	*tree
	maxBytes int // of the tree
}

func newRDFJSONWriter(opts *EncoderOptions) writer {
	return rdfjsonWriter{newTree(), cmp.Or(opts.MaxBytes, defaultMaxTree)}
}

func (w rdfjsonWriter) append(dst, s, p, o, _ []byte) ([]byte, error) {
	if w.size()+len(s)+len(p)+len(o)+3*entrySize > w.maxBytes {
		return dst, fmt.Errorf("write statement about %s in rdfjson: the document takes more than %d bytes: %w", shorten(s), w.maxBytes, ErrLimit)
	}
	w.add(s, p, o, nil)
	return dst, nil
}

func (w rdfjsonWriter) appendEnd(dst []byte) []byte {
	dst = append(dst, '{')
	if graph := w.entries[0].first; graph != 0 {
		dst = w.appendMembers(dst, &w.entries[graph], func(dst []byte, subject *entry) []byte {
			dst = append(dst, '{')
			dst = w.appendMembers(dst, subject, w.appendObjects)
			return append(dst, '}')
		})
	}
	return append(dst, "}\n"...)
}

// appendMembers writes the children of an entry as members of an object.
func (t *tree) appendMembers(dst []byte, parent *entry, value func([]byte, *entry) []byte) []byte {
	for i := parent.first; i != 0; i = t.entries[i].after {
		if i != parent.first {
			dst = append(dst, ",\n"...)
		}
		dst = appendID(dst, t.term(&t.entries[i]))
		dst = append(dst, ':')
		dst = value(dst, &t.entries[i])
	}
	return dst
}

func (t *tree) appendObjects(dst []byte, predicate *entry) []byte {
	for o := predicate.first; o != 0; o = t.entries[o].after {
		if o == predicate.first {
			dst = append(dst, '[')
		} else {
			dst = append(dst, ',')
		}
		dst = appendObject(dst, t.term(&t.entries[o]))
	}
	return append(dst, ']')
}

func appendObject(dst, term []byte) []byte {
	switch {
	case bytes.HasPrefix(term, []byte{'"'}):
		end := lexicalEnd(term)
		dst = append(dst, `{"type":"literal","value":`...)
		dst = append(dst, term[:end]...)
		return appendTail(dst, term[end:], `,"lang":"`, `,"datatype":`)
	case bytes.HasPrefix(term, []byte("_:")):
		dst = append(dst, `{"type":"bnode","value":`...)
	default:
		dst = append(dst, `{"type":"uri","value":`...)
	}
	dst = appendID(dst, term)
	return append(dst, '}')
}
