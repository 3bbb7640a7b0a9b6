package rdf

import "unicode/utf8"

// ValidIRI reports whether iri can stand as an absolute IRI between < and >: it
// starts with a scheme (RFC 3986 section 3.1), is UTF-8 and holds no character
// that the IRIREF production of the RDF syntaxes forbids (controls, space and
// <>"{}|^`\). If not, it returns the offset of the first byte that is wrong,
// which is len(iri) when the scheme is cut short. It checks no more than that:
// neither percent escapes nor the rules of a particular scheme.
func ValidIRI(iri []byte) (int, bool) {
	n := schemeLen(iri)
	if n <= 0 {
		return -n, false
	}
	return ValidReference(iri)
}

// ValidReference is like [ValidIRI] for an IRI reference, which may be relative
// and may be empty.
func ValidReference(ref []byte) (int, bool) {
	found := class(0)
	for _, c := range ref {
		found |= classes[c]
	}
	if found&(forbidden|wide) == 0 {
		return len(ref), true
	}
	for i := 0; i < len(ref); {
		r, size := utf8.DecodeRune(ref[i:])
		if is(ref[i], forbidden) || (r == utf8.RuneError && size == 1) {
			return i, false
		}
		i += size
	}
	return len(ref), true
}

// schemeLen returns the length of the scheme of an IRI with its colon. If there
// is none it returns the offset, negated, of the byte where it ends.
func schemeLen[T string | []byte](iri T) int {
	if len(iri) == 0 || !is(iri[0], alpha) {
		return 0
	}
	for i := 1; i < len(iri); i++ {
		if iri[i] == ':' {
			return i + 1
		}
		if !is(iri[i], schemeTail) {
			return -i
		}
	}
	return -len(iri)
}

// ValidLabel reports whether label can stand after "_:" in every syntax of this
// package (BLANK_NODE_LABEL of RDF 1.1 Turtle).
func ValidLabel(label []byte) bool {
	for i := 0; i < len(label); {
		c := label[i]
		if c < utf8.RuneSelf {
			inner := i > 0 && (c == '-' || (c == '.' && i < len(label)-1))
			if !is(c, nameStart|digit) && !inner {
				return false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(label[i:])
		if (!isNameStart(r) && (i == 0 || !isName(r))) || (r == utf8.RuneError && size == 1) {
			return false
		}
		i += size
	}
	return len(label) > 0
}

// validPrefix reports whether name is a PN_PREFIX, or empty.
func validPrefix(name string) bool {
	if name == "" {
		return true
	}
	return ValidLabel([]byte(name)) && name[0] != '_' && !is(name[0], digit)
}
