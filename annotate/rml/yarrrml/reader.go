package yarrrml

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
)

// The namespaces of the statements.
const (
	nsRR      = "http://www.w3.org/ns/r2rml#"
	nsRML     = "http://semweb.mmlab.be/ns/rml#"
	nsQL      = "http://semweb.mmlab.be/ns/ql#"
	nsFNML    = "http://semweb.mmlab.be/ns/fnml#"
	nsFNO     = "https://w3id.org/function/ontology#"
	nsCARML   = "http://carml.taxonic.com/carml/"
	nsModern  = "http://w3id.org/rml/"
	nsRDF     = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
	nsRDFS    = "http://www.w3.org/2000/01/rdf-schema#"
	nsXSD     = "http://www.w3.org/2001/XMLSchema#"
	nsVoID    = "http://rdfs.org/ns/void#"
	nsDC      = "http://purl.org/dc/terms/"
	nsFOAF    = "http://xmlns.com/foaf/0.1/"
	nsCSVW    = "http://www.w3.org/ns/csvw#"
	nsD2RQ    = "http://www.wiwiss.fu-berlin.de/suhl/bizer/D2RQ/0.1#"
	nsSD      = "http://www.w3.org/ns/sparql-service-description#"
	nsDCAT    = "http://www.w3.org/ns/dcat#"
	nsFormats = "http://www.w3.org/ns/formats/"
	nsGREL    = "http://users.ugent.be/~bjdmeest/function/grel.ttl#"
	nsIDLab   = "https://w3id.org/imec/idlab/function#"
	nsMapping = "http://mapping.example.com/" // of the names of mappings, as other translators have it
)

// knownPrefixes are those that need no declaration: the initial context of RDFa, and those of RML.
func knownPrefixes() map[string]string {
	return map[string]string{
		"as": "https://www.w3.org/ns/activitystreams#", "cc": "http://creativecommons.org/ns#", "csvw": nsCSVW,
		"ctag": "http://commontag.org/ns#", "dc": nsDC, "dc11": "http://purl.org/dc/elements/1.1/", "dcat": nsDCAT, "dcterms": nsDC,
		"dqv": "http://www.w3.org/ns/dqv#", "duv": "https://www.w3.org/ns/duv#", "foaf": nsFOAF,
		"gr": "http://purl.org/goodrelations/v1#", "grddl": "http://www.w3.org/2003/g/data-view#",
		"ical": "http://www.w3.org/2002/12/cal/icaltzd#", "jsonld": "http://www.w3.org/ns/json-ld#",
		"ldp": "http://www.w3.org/ns/ldp#", "ma": "http://www.w3.org/ns/ma-ont#", "oa": "http://www.w3.org/ns/oa#",
		"odrl": "http://www.w3.org/ns/odrl/2/", "og": "http://ogp.me/ns#", "org": "http://www.w3.org/ns/org#",
		"owl": "http://www.w3.org/2002/07/owl#", "prov": "http://www.w3.org/ns/prov#", "qb": "http://purl.org/linked-data/cube#",
		"rdf": nsRDF, "rdfa": "http://www.w3.org/ns/rdfa#", "rdfs": nsRDFS, "rev": "http://purl.org/stuff/rev#",
		"rif": "http://www.w3.org/2007/rif#", "rr": nsRR, "schema": "http://schema.org/", "sd": nsSD,
		"sioc": "http://rdfs.org/sioc/ns#", "skos": "http://www.w3.org/2004/02/skos/core#",
		"skosxl": "http://www.w3.org/2008/05/skos-xl#", "sosa": "http://www.w3.org/ns/sosa/", "ssn": "http://www.w3.org/ns/ssn/",
		"time": "http://www.w3.org/2006/time#", "v": "http://rdf.data-vocabulary.org/#", "vcard": "http://www.w3.org/2006/vcard/ns#",
		"void": nsVoID, "wdr": "http://www.w3.org/2007/05/powder#", "wdrs": "http://www.w3.org/2007/05/powder-s#",
		"xhv": "http://www.w3.org/1999/xhtml/vocab#", "xml": "http://www.w3.org/XML/1998/namespace", "xsd": nsXSD,
		"rml": nsRML, "ql": nsQL, "fnml": nsFNML, "fno": nsFNO, "grel": nsGREL, "idlab-fn": nsIDLab,
	}
}

// reader turns the document into statements. Its methods go on after an error, which keeps
// them short; only the first error counts.
type reader struct {
	err    error
	values int

	statements []rml.MappingStatement
	blanks     int
	names      map[string]bool // of the triples maps

	declared []rdf.Prefix
	prefixes map[string]string
	base     string
	external map[string]string
	sources  map[string]value
	targets  map[string]value
	shared   map[string]rdf.Term // logical sources by their name
	tables   map[rdf.Term]bool   // which of them are logical tables
	mappings map[string]*mapping
	order    []*mapping
}

func newReader() *reader {
	return &reader{
		names: make(map[string]bool), prefixes: knownPrefixes(), external: make(map[string]string),
		sources: make(map[string]value), targets: make(map[string]value),
		shared: make(map[string]rdf.Term), tables: make(map[rdf.Term]bool), mappings: make(map[string]*mapping),
	}
}

// state adds a statement that the value stands for.
func (r *reader) state(v value, s rdf.Term, p string, o rdf.Term) {
	q := rdf.Quad{Subject: s, Predicate: rdf.NewIRI(p), Object: o}
	r.statements = append(r.statements, rml.MappingStatement{Quad: q, Line: v.line()})
}

// stateText states the text of an optional key.
func (r *reader) stateText(v value, s rdf.Term, p string) {
	if !v.isNull() {
		r.state(v, s, p, rdf.NewLiteral(r.text(v)))
	}
}

// node returns a new node.
func (r *reader) node() rdf.Term {
	r.blanks++
	return rdf.NewBlank(fmt.Sprintf("n%d", r.blanks))
}

// name returns the IRI of a triples map.
func (r *reader) name(of string) rdf.Term {
	name := of
	for i := 1; r.names[name]; i++ {
		name = fmt.Sprintf("%s_%d", of, i)
	}
	r.names[name] = true
	return rdf.NewIRI(nsMapping + url.PathEscape(name))
}

func documentKeys() []key {
	return []key{{"prefixes", "prefix"}, {"base"}, {"external"}, {"sources", "source"}, {"targets", "target"},
		{"authors", "author", "a"}, {"mappings", "mapping", "m"}}
}

func (r *reader) document(v value) {
	m := r.members(v, documentKeys())
	for _, p := range r.optional(m["prefixes"]) {
		iri := r.text(p.value)
		r.prefixes[p.name] = iri
		r.declared = append(r.declared, rdf.Prefix{Name: p.name, IRI: iri})
	}
	if _, taken := r.prefixes[""]; !taken {
		r.declared = append(r.declared, rdf.Prefix{Name: "", IRI: nsMapping})
	}
	if base := m["base"]; !base.isNull() {
		r.base = r.text(base)
		if _, ok := rdf.ValidIRI([]byte(r.base)); !ok {
			r.fail(base, "it is %q: expected an absolute IRI", r.base)
		}
	}
	for _, p := range r.optional(m["external"]) {
		r.external[p.name] = r.text(p.value)
	}
	for _, p := range r.optional(m["sources"]) {
		r.sources[p.name] = p.value
	}
	for _, p := range r.optional(m["targets"]) {
		r.targets[p.name] = p.value
	}
	if m["mappings"].isNull() && r.err == nil {
		r.fail(v, "it has no mappings: expected the key mappings with at least one mapping")
	}
	for _, p := range r.optional(m["mappings"]) {
		r.announce(p)
	}
	r.authors(m["authors"])
	for _, m := range r.order {
		r.mapping(m)
	}
}

// optional returns the members of an object that may be missing.
func (r *reader) optional(v value) []pair {
	if v.isNull() {
		return nil
	}
	return r.pairs(v)
}

// authors states the authors of the mappings.
func (r *reader) authors(v value) {
	authors := r.oneOrMore(v)
	if len(authors) == 0 {
		return
	}
	rules := rdf.NewIRI(nsMapping + "rules_000")
	r.state(v, rules, rdf.Type, rdf.NewIRI(nsVoID+"Dataset"))
	for i, author := range authors {
		person := rdf.NewIRI(fmt.Sprintf("%sperson_%03d", nsMapping, i))
		if text := author.raw(); strings.Contains(text, "://") && !strings.ContainsAny(text, "<( ") { // a WebID
			r.state(author, rules, nsDC+"contributor", r.iri(author, text))
			continue
		}
		r.state(author, rules, nsDC+"contributor", person)
		r.state(author, person, rdf.Type, rdf.NewIRI(nsFOAF+"Person"))
		name, email, website := r.author(author)
		if name != "" {
			r.state(author, person, nsRDFS+"label", rdf.NewLiteral(name))
		}
		if email != "" {
			r.state(author, person, nsFOAF+"mbox", r.absolute(author, "mailto:"+email))
		}
		if website != "" {
			r.state(author, person, nsFOAF+"homepage", r.iri(author, website))
		}
	}
	for _, m := range r.order {
		for _, t := range m.terms {
			r.state(m.value, rules, nsVoID+"exampleResource", t)
		}
	}
}

// author reads an author as an object or as text: name <email> (website).
func (r *reader) author(v value) (name, email, website string) {
	if v.isMap() {
		m := r.members(v, []key{{"name"}, {"email", "mail"}, {"website"}})
		return m["name"].raw(), m["email"].raw(), m["website"].raw()
	}
	name = r.text(v)
	if before, rest, ok := strings.Cut(name, "("); ok {
		website, _, _ = strings.Cut(rest, ")")
		name = before
	}
	if before, rest, ok := strings.Cut(name, "<"); ok {
		email, _, _ = strings.Cut(rest, ">")
		name = before
	}
	return strings.TrimSpace(name), strings.TrimSpace(email), strings.TrimSpace(website)
}

// iri returns the IRI that a text stands for: a prefixed name, an IRI, or one relative to base.
func (r *reader) iri(v value, text string) rdf.Term {
	text = strings.NewReplacer(`\:`, ":", `\$(`, "$(").Replace(r.expand(text))
	return r.absolute(v, text)
}

// absolute returns an IRI that has no prefix and no escapes.
func (r *reader) absolute(v value, text string) rdf.Term {
	if !strings.Contains(text, ":") {
		if r.base == "" {
			r.fail(v, "%q is not an IRI: expected an IRI or a name with a prefix", text)
		}
		text = rdf.Resolve(r.base, text)
	}
	if _, ok := rdf.ValidIRI([]byte(text)); !ok {
		r.fail(v, "%q is not a valid IRI: expected an IRI or a name with a declared prefix", text)
	}
	return rdf.NewIRI(text)
}

// expand replaces a prefix that is known.
func (r *reader) expand(text string) string {
	name, rest, ok := strings.Cut(text, ":")
	if !ok || strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, " ") {
		return text
	}
	if iri, known := r.prefixes[name]; known {
		return iri + rest
	}
	return text
}

// suffixes are what may follow a text after a tilde, for the kind of its term.
var suffixes = [...]struct {
	text string
	kind kind
}{{"iri", iriKind}, {"literal", literalKind}, {"blanknode", blankKind}, {"blank", blankKind}}

// cutSuffix removes the suffix that names the kind of a term.
func cutSuffix(text string) (string, kind) {
	for _, s := range suffixes {
		if rest, ok := strings.CutSuffix(text, "~"+s.text); ok {
			return rest, s.kind
		}
	}
	return text, noKind
}

// kind is the kind of a term.
type kind uint8

const (
	noKind kind = iota
	iriKind
	blankKind
	literalKind
)

// String returns the name that the language has for the kind.
func (k kind) String() string { return [...]string{"", "iri", "blank", "literal"}[k] }

// valueKindType reads the key type of a term.
func (r *reader) kindOfType(v value) kind {
	if v.isNull() {
		return noKind
	}
	text := r.text(v)
	i := slices.IndexFunc(suffixes[:], func(s struct {
		text string
		kind kind
	}) bool {
		return s.text == strings.ToLower(text)
	})
	if i < 0 {
		r.fail(v, "the type %q is not known: expected iri, blank or literal", text)
		return noKind
	}
	return suffixes[i].kind
}

// stateKind states the kind of a term.
func (r *reader) stateKind(v value, t rdf.Term, k kind) {
	if k != noKind {
		name := map[kind]string{iriKind: "IRI", blankKind: "BlankNode", literalKind: "Literal"}[k]
		r.state(v, t, nsRR+"termType", rdf.NewIRI(nsRR+name))
	}
}
