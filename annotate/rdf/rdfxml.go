package rdf

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	rdfNamespace   = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
	xmlNamespace   = "http://www.w3.org/XML/1998/namespace"
	xmlnsNamespace = "http://www.w3.org/2000/xmlns/"
)

// The reasons why RDF/XML cannot express a statement.
var (
	errNoTerm    = errors.New("no such term")
	errNoName    = errors.New("it does not end in a name of XML")
	errSyntax    = errors.New("the name is part of the syntax")
	errCharacter = errors.New("XML excludes a character of it")
)

// xmlWriter writes the statements of one RDF/XML document: an rdf:Description for
// each run of statements about one subject, below it an element for each
// statement. An element whose predicate starts with no declared prefix declares
// the default namespace for itself.
type xmlWriter struct {
	head       []byte // up to the end of the start tag of the root, without ">"
	prefixes   []Prefix
	predicates *shortened
	started    bool   // head was written
	open       bool   // the element of subject is open
	subject    []byte // of the statement before
}

func newXMLWriter(opts *EncoderOptions) writer {
	x := &xmlWriter{predicates: &shortened{}}
	x.head = append(x.head, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+`<rdf:RDF xmlns:rdf="`+rdfNamespace+`"`...)
	for _, p := range opts.Prefixes {
		value, err := appendXML(nil, []byte(p.IRI))
		if err != nil || p.Name == "rdf" || strings.HasPrefix(strings.ToLower(p.Name), "xml") || !bindable([]byte(p.IRI)) {
			continue
		}
		x.prefixes = append(x.prefixes, p)
		x.head = append(x.head, "\n\txmlns"...)
		if p.Name != "" {
			x.head = append(x.head, ":"+p.Name...)
		}
		x.head = append(append(append(x.head, `="`...), value...), '"')
	}
	x.prefixes = append(x.prefixes, Prefix{"rdf", rdfNamespace})
	slices.SortStableFunc(x.prefixes, func(a, b Prefix) int { return cmp.Compare(len(b.IRI), len(a.IRI)) })
	return x
}

func (x *xmlWriter) reset() {
	x.started = false
	x.open = false
	x.subject = x.subject[:0]
}

func (x *xmlWriter) append(dst, s, p, o, _ []byte) ([]byte, error) {
	predicate, err := x.predicate(p)
	if err != nil {
		return dst, fmt.Errorf("write predicate %s in rdfxml: %w", shorten(p), err)
	}
	out, same := dst, x.open && bytes.Equal(x.subject, s)
	if !x.started {
		out = append(append(out, x.head...), ">\n"...)
	}
	if !same {
		if x.open {
			out = append(out, "</rdf:Description>\n"...)
		}
		out = append(out, "<rdf:Description"...)
		if out, err = appendNode(out, s, ` rdf:about="`); err != nil {
			return dst, fmt.Errorf("write subject %s in rdfxml: %w", shorten(s), err)
		}
		out = append(out, ">\n"...)
	}
	if out, err = appendProperty(out, predicate.short, o); err != nil {
		return dst, fmt.Errorf("write object %s in rdfxml: %w", shorten(o), err)
	}
	x.started, x.open = true, true
	if !same {
		x.subject = append(x.subject[:0], s...)
	}
	return out, nil
}

func (x *xmlWriter) appendEnd(dst []byte) []byte {
	switch {
	case !x.started:
		return append(append(dst, x.head...), "/>\n"...)
	case x.open:
		dst = append(dst, "</rdf:Description>\n"...)
	}
	return append(dst, "</rdf:RDF>\n"...)
}

// predicate returns the place of a predicate, whose short form is the name of its
// element and, if necessary, the declaration of its namespace.
func (x *xmlWriter) predicate(iri []byte) (*form, error) {
	f, known := x.predicates.find(iri)
	if known && len(f.short) > 0 {
		return f, nil
	}
	var err error
	f.short, err = x.appendName(f.short[:0], iri)
	if err != nil {
		f.short = f.short[:0]
	}
	return f, err
}

func (x *xmlWriter) appendName(dst, bracketed []byte) ([]byte, error) {
	if len(bracketed) < 2 || bracketed[0] != '<' {
		return dst, errNoTerm
	}
	iri := bracketed[1 : len(bracketed)-1]
	if local, ok := after(iri, rdfNamespace); ok && reserved(local) {
		return dst, errSyntax
	}
	for _, p := range x.prefixes {
		if local, ok := after(iri, p.IRI); ok && validName(local) {
			if p.Name != "" {
				return append(append(append(dst, p.Name...), ':'), local...), nil
			}
			if !startsWithXML(local) {
				return append(dst, local...), nil
			}
		}
	}
	at := localName(iri)
	if at == len(iri) {
		return dst, errNoName
	}
	dst = append(dst, iri[at:]...)
	dst = append(dst, ` xmlns="`...)
	dst, err := appendXML(dst, iri[:at])
	return append(dst, '"'), err
}

// reserved reports whether a name in the RDF namespace is no name of a property
// element, or another one (RDF 1.1 XML Syntax, section 5.1).
func reserved(local []byte) bool {
	switch string(local) {
	case "RDF", "ID", "about", "parseType", "resource", "nodeID", "datatype", "Description", "li",
		"aboutEach", "aboutEachPrefix", "bagID":
		return true
	}
	return false
}

// bindable reports whether XML allows declaring the namespace.
func bindable(namespace []byte) bool {
	return string(namespace) != xmlNamespace && string(namespace) != xmlnsNamespace && len(namespace) > 0
}

// startsWithXML reports whether a name is reserved by XML (XML 1.0 section
// 2.3).
func startsWithXML(name []byte) bool {
	return len(name) >= 3 && bytes.EqualFold(name[:3], []byte("xml"))
}

// localName returns where the longest NCName at the end of an IRI starts that is
// free for use and whose namespace may be declared; len(iri) if absent.
func localName(iri []byte) int {
	start := len(iri)
	for at := len(iri); at > 0; {
		r, size := utf8.DecodeLastRune(iri[:at])
		if !isNCName(r) || (r == utf8.RuneError && size == 1) {
			break
		}
		at -= size
		if isNCNameStart(r) && bindable(iri[:at]) && !startsWithXML(iri[at:]) {
			start = at
		}
	}
	return start
}

// validName reports whether name is an NCName (Namespaces in XML 1.0, section 3,
// with the characters of XML 1.0 in its fifth edition).
func validName(name []byte) bool {
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRune(name[i:])
		if !isNCName(r) || (i == 0 && !isNCNameStart(r)) || (r == utf8.RuneError && size == 1) {
			return false
		}
		i += size
	}
	return len(name) > 0
}

func isNCNameStart(r rune) bool {
	return (r < utf8.RuneSelf && is(byte(r), nameStart)) || isNameStart(r)
}

func isNCName(r rune) bool {
	return (r < utf8.RuneSelf && (is(byte(r), name) || r == '.')) || isName(r)
}

// appendNode writes the attribute that names a node, and nothing else: an IRI
// after the start given, and a blank node as rdf:nodeID.
func appendNode(dst, term []byte, start string) ([]byte, error) {
	var err error
	switch {
	case len(term) > 2 && term[0] == '<':
		dst = append(dst, start...)
		dst, err = appendXML(dst, term[1:len(term)-1])
	case len(term) > 2 && term[0] == '_':
		dst = append(dst, ` rdf:nodeID="`...)
		dst, err = appendLabel(dst, term[2:])
	default:
		return dst, errNoTerm
	}
	return append(dst, '"'), err
}

// appendLabel writes the label of a blank node, which must be an NCName: those
// that are none, since they start with a digit, get "_." in front. So do those that
// start with "_." themselves, lest two labels become one.
func appendLabel(dst, label []byte) ([]byte, error) {
	const mark = "_."
	if validName(label) && !bytes.HasPrefix(label, []byte(mark)) {
		return append(dst, label...), nil
	}
	at := len(dst)
	dst = append(append(dst, mark...), label...)
	if !validName(dst[at:]) {
		return dst, errCharacter
	}
	return dst, nil
}

// appendProperty writes a property element, whose name may be followed by a
// declaration.
func appendProperty(dst, name, o []byte) ([]byte, error) {
	dst = append(dst, "\t<"...)
	dst = append(dst, name...)
	if !bytes.HasPrefix(o, []byte{'"'}) {
		dst, err := appendNode(dst, o, ` rdf:resource="`)
		return append(dst, "/>\n"...), err
	}
	end := lexicalEnd(o)
	if end < 2 {
		return dst, errNoTerm
	}
	lexical, tail := o[1:end-1], o[end:]
	var err error
	switch {
	case len(tail) > 1 && tail[0] == '@':
		dst = append(dst, ` xml:lang="`...)
		dst, err = appendXML(dst, tail[1:])
		dst = append(dst, '"')
	case len(tail) > 4:
		dst = append(dst, ` rdf:datatype="`...)
		dst, err = appendXML(dst, tail[3:len(tail)-1])
		dst = append(dst, '"')
	}
	if err != nil {
		return dst, err
	}
	dst = append(dst, '>')
	if dst, err = appendXML(dst, lexical); err != nil {
		return dst, err
	}
	dst = append(dst, "</"...)
	if at := bytes.IndexByte(name, ' '); at >= 0 {
		name = name[:at]
	}
	dst = append(dst, name...)
	return append(dst, ">\n"...), nil
}

// appendXML writes the inside of a term in canonical form so that it can stand in
// text and in attributes. White space other than the space becomes a reference:
// it would be changed by the reader in some places.
func appendXML(dst, text []byte) ([]byte, error) {
	for len(text) > 0 {
		n := 0
		for n < len(text) && !is(text[n], markup|wide) {
			n++
		}
		dst = append(dst, text[:n]...)
		if text = text[n:]; len(text) == 0 {
			break
		}
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\\':
			r, size = unescape(text)
		case r == utf8.RuneError && size == 1:
			return dst, errCharacter
		}
		text = text[size:]
		switch {
		case r == '&':
			dst = append(dst, "&amp;"...)
		case r == '<':
			dst = append(dst, "&lt;"...)
		case r == '>':
			dst = append(dst, "&gt;"...)
		case r == '"':
			dst = append(dst, "&quot;"...)
		case r == '\t' || r == '\n' || r == '\r':
			dst = append(dst, "&#x"...)
			dst = append(dst, hexDigits[r], ';')
		case r < ' ' || r == 0xFFFE || r == 0xFFFF:
			return dst, errCharacter
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst, nil
}

// unescape returns the character that an escape of canonical N-Triples stands
// for, and the length of the escape.
func unescape(text []byte) (rune, int) {
	if len(text) >= 6 && text[1] == 'u' {
		n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
		if err == nil && utf8.ValidRune(rune(n)) {
			return rune(n), 6
		}
	}
	if len(text) >= 2 {
		if i := strings.IndexByte(`btnfr"\`, text[1]); i >= 0 {
			return rune("\b\t\n\f\r\"\\"[i]), 2
		}
	}
	return '\\', 1
}
