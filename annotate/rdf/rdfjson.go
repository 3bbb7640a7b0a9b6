package rdf

import "bytes"

// appendSubjects writes the buffered statements as one RDF/JSON object: subjects
// to predicates to arrays of objects.
func (t *tree) appendSubjects(dst []byte) []byte {
	dst = append(dst, '{')
	if graph := t.entries[0].first; graph != 0 {
		dst = t.appendMembers(dst, &t.entries[graph], func(dst []byte, subject *entry) []byte {
			dst = append(dst, '{')
			dst = t.appendMembers(dst, subject, t.appendObjects)
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
