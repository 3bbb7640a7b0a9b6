package xmldoc

import "bytes"

// readDoctype skips the document type declaration at i, in the dialect of CARML. It may have an
// internal subset, of elements, notations and attributes without defaults. Entities and
// what would have to be fetched are errors.
func (d *Document) readDoctype(i int, open int32) (int, error) {
	if open != 0 || d.top > 0 || d.doctype {
		return 0, d.fail(i, "a document type declaration must occur once, before the element")
	}
	d.doctype = true
	at := d.skipSpace(i + len("<!DOCTYPE"))
	if at == i+len("<!DOCTYPE") {
		return 0, d.fail(at, "expected white space after <!DOCTYPE")
	}
	end, _, err := d.readName(at)
	if err != nil {
		return 0, err
	}
	at = d.skipSpace(end)
	if hasAt(d.data, at, "SYSTEM") || hasAt(d.data, at, "PUBLIC") {
		return 0, d.fail(at, "the document type declaration refers to another document, and nothing is fetched; remove it")
	}
	if hasAt(d.data, at, "[") {
		if at, err = d.skipSubset(at); err != nil {
			return 0, err
		}
		at = d.skipSpace(at)
	}
	if !hasAt(d.data, at, ">") {
		return 0, d.fail(at, "expected > at the end of the document type declaration")
	}
	return at + 1, nil
}

// skipSubset returns the offset after the internal subset at i.
func (d *Document) skipSubset(i int) (int, error) {
	begin := i
	for i++; ; {
		i = d.skipSpace(i)
		switch {
		case i >= len(d.data):
			return 0, d.fail(begin, "the bracket that begins here is never closed")
		case d.data[i] == ']':
			return i + 1, nil
		case hasAt(d.data, i, "<!ENTITY"):
			return 0, d.fail(i, "the document type declares an entity; entities are not expanded, write their text instead")
		case d.data[i] == '%':
			return 0, d.fail(i, "a parameter entity in the document type; entities are not expanded")
		case hasAt(d.data, i, "<!--"), hasAt(d.data, i, "<?"):
			close := "-->"
			if d.data[i+1] == '?' {
				close = "?>"
			}
			n := bytes.Index(d.data[i+2:], []byte(close))
			if n < 0 {
				return 0, d.fail(i, "%s is missing after what begins here", close)
			}
			i += 2 + n + len(close)
		case hasAt(d.data, i, "<!ELEMENT"), hasAt(d.data, i, "<!NOTATION"), hasAt(d.data, i, "<!ATTLIST"):
			n := bytes.IndexByte(d.data[i:], '>')
			if n < 0 {
				return 0, d.fail(i, "> is missing after what begins here")
			}
			if quote := bytes.IndexAny(d.data[i:i+n], `"'`); quote >= 0 && d.data[i+2] == 'A' {
				return 0, d.fail(i+quote, "the document type gives an attribute a default, which is not applied; write the attribute "+
					"where it is missing")
			}
			i += n + 1
		default:
			return 0, d.fail(i, "expected a declaration or ] in the document type")
		}
	}
}
