package yarrrml

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/document"
)

// termText is a term map in YARRRML. One without a value and without a function generates new blank nodes.
type termText struct {
	kind     kind
	value    string // a template
	hasValue bool
	iri      string // what the value stands for, if it is a constant IRI

	datatype, language   string
	function, parameters *yaml.Node
	targets              *yaml.Node
}

func (t termText) isFresh() bool { return !t.hasValue && t.function == nil && t.targets == nil }

// isPlain reports whether the value and the kind are all there is.
func (t termText) isPlain(k kind) bool {
	return t.hasValue && t.kind == k && t.datatype == "" && t.language == "" && t.targets == nil
}

// node returns the term where one is usually of a kind.
func (t termText) node(usual kind) *yaml.Node {
	isShort := t.kind == usual || t.kind == iriKind
	if t.isPlain(t.kind) && isShort && !hasSuffix(t.value) {
		return text(t.suffixed(usual))
	}
	m := object()
	switch {
	case t.function != nil:
		add(m, "function", t.function)
		add(m, "parameters", t.parameters)
	case t.hasValue:
		value := t.value
		if hasSuffix(value) {
			value += "~literal" // what the reader cuts; the type says the kind
		}
		add(m, "value", text(value))
	}
	if (t.kind != usual && t.datatype == "" && t.language == "") || (!t.hasValue && t.function == nil) || hasSuffix(t.value) {
		add(m, "type", text(t.kind.String()))
	}
	if t.datatype != "" {
		add(m, "datatype", text(t.datatype))
	}
	if t.language != "" {
		add(m, "language", text(t.language))
	}
	if t.targets != nil {
		add(m, "targets", t.targets)
	}
	return m
}

// parts returns the value and the datatype or language, or nil for a term that needs an object.
func (t termText) parts(usual kind) []*yaml.Node {
	isTagged := t.datatype != "" || t.language != ""
	switch {
	case !t.hasValue, t.targets != nil, hasSuffix(t.value), strings.HasSuffix(t.datatype, "~lang"):
		return nil
	case !isTagged && t.kind != usual && t.kind != iriKind:
		return nil
	case t.language != "":
		return []*yaml.Node{text(t.value), text(t.language + "~lang")}
	case t.datatype != "":
		return []*yaml.Node{text(t.value), text(t.datatype)}
	}
	return []*yaml.Node{text(t.suffixed(usual))}
}

func (t termText) suffixed(usual kind) string {
	if t.kind != usual {
		return t.value + "~" + t.kind.String()
	}
	return t.value
}

// hasSuffix reports whether a text ends in what the reader takes for a kind.
func hasSuffix(s string) bool {
	_, k := cutSuffix(s)
	return k != noKind
}

// constant returns the text of a constant.
func (w *writer) constant(r *document.Resource, what string, t rdf.Term) termText {
	switch t.Kind {
	case rdf.IRI:
		return termText{kind: iriKind, value: w.iriText(t.Value), hasValue: true, iri: t.Value}
	case rdf.Literal:
		if t.Lang != "" && !rdf.ValidLangTag([]byte(t.Lang)) {
			w.fail(r, what, "the language of its constant %s is not valid (BCP 47): YARRRML cannot express it", w.Write(t))
		}
		c := termText{kind: literalKind, value: w.plainText(t.Value), hasValue: true, language: t.Lang}
		if t.Lang == "" && t.Datatype != "" && t.Datatype != rdf.XSDString {
			c.datatype = w.datatypeText(t.Datatype)
		}
		return c
	}
	w.fail(r, what, "its constant %s is a blank node: expected an IRI or a literal", w.Write(t))
	return termText{}
}

// declared returns the IRI that a text means whose term map declares it one.
func (w *writer) declared(r *document.Resource, what string, in role, t rdf.Term) rdf.Term {
	for _, termType := range r.All("termType") {
		if name, _, _ := document.LocalName(termType.Value); name != "IRI" || t.Kind != rdf.Literal || in == argumentRole {
			continue
		}
		if _, ok := rdf.ValidIRI([]byte(t.Value)); !ok {
			w.fail(r, what, "its constant %s is not an absolute IRI: YARRRML cannot express it", w.Write(t))
		}
		return rdf.NewIRI(t.Value)
	}
	return t
}

// termMap returns the text of a term map. It may have the properties of every term map, and some of its position.
func (w *writer) termMap(t rdf.Term, what string, in role, properties ...string) termText {
	r := w.about(t, what, append([]string{"constant", "reference", "template", "termType", "functionValue", "logicalTarget",
		"inverseExpression"},
		properties...)...)
	if r.Generation() == document.Modern {
		w.fail(r, what, "it is in the vocabulary %s: YARRRML stands for the legacy vocabulary", nsModern)
	}
	var m termText
	for _, s := range r.Statements {
		switch s.Name {
		case "constant":
			m = w.constant(r, what, w.declared(r, what, in, s.Object))
		case "reference":
			m = termText{value: referenceText(s.Object.Value), hasValue: true}
		case "functionValue":
			m.function, m.parameters = w.call(s.Object)
		}
	}
	w.literalParts(r, what, &m)
	m.kind = w.valueKind(r, what, in, m)
	for _, template := range r.All("template") {
		m.value, m.iri = w.template(r, what, template.Value, m.kind)
		m.hasValue = true
	}
	if targets := r.All("logicalTarget"); len(targets) > 0 {
		m.targets = list()
		for _, target := range targets {
			m.targets.Content = append(m.targets.Content, w.target(target))
		}
	}
	return m
}

// valueKind returns the kind of a term: that of its constant, the one that its map names, or that of its position.
func (w *writer) valueKind(r *document.Resource, what string, in role, m termText) kind {
	if m.hasValue && m.kind != noKind {
		return m.kind
	}
	for _, t := range r.All("termType") {
		name, _, _ := document.LocalName(t.Value)
		switch name {
		case "IRI":
			return iriKind
		case "BlankNode":
			return blankKind
		case "Literal":
			return literalKind
		}
		w.fail(r, what, "YARRRML cannot express the term type %s: expected rr:IRI, rr:BlankNode or rr:Literal", w.Write(t))
	}
	isTemplate := r.Has("template")
	switch {
	case in == argumentRole, in == objectRole && (!isTemplate || m.datatype != "" || m.language != ""):
		return literalKind
	}
	return iriKind
}

// literalParts adds the datatype and the language of a term map.
func (w *writer) literalParts(r *document.Resource, what string, m *termText) {
	part := func(t rdf.Term, what string, in role, k kind) string {
		p := w.termMap(t, what, in)
		if p.kind = k; !p.isPlain(k) {
			w.fail(w.About(t), what, "YARRRML takes a constant, a reference or a template here only")
		}
		return p.value
	}
	for _, s := range r.Statements {
		switch s.Name {
		case "datatype":
			m.datatype = w.datatypeText(s.Object.Value)
			m.language = ""
		case "datatypeMap":
			m.datatype = part(s.Object, "datatype map", graphRole, iriKind)
			m.language = ""
		case "language":
			m.datatype = ""
			m.language = w.plainText(s.Object.Value)
		case "languageMap":
			m.datatype = ""
			m.language = part(s.Object, "language map", argumentRole, literalKind)
		}
	}
	if strings.HasSuffix(m.language, "~lang") {
		w.fail(r, what, "YARRRML cannot express its language %q", m.language)
	}
}

// template returns a template of R2RML as one of YARRRML, and the IRI that one without references stands for.
func (w *writer) template(r *document.Resource, what, template string, k kind) (value, iri string) {
	segments, err := document.ParseTemplate(template)
	if err != nil {
		w.fail(r, what, "its template %q is not valid: %v", template, err)
		return "", ""
	}
	isConstant := !slices.ContainsFunc(segments, func(s document.Segment) bool { return s.Ref != "" })
	switch {
	case isConstant && k == blankKind:
		w.fail(r, what, "its template %q has no reference: YARRRML cannot express a constant blank node", template)
	case isConstant && k == iriKind:
		for _, s := range segments {
			iri += s.Text
		}
		if _, ok := rdf.ValidIRI([]byte(iri)); !ok {
			w.fail(r, what, "its template %q has no reference and is not an absolute IRI: YARRRML cannot express it", template)
		}
		return w.iriText(iri), iri
	case len(segments) == 1 && k == literalKind && w.inTable && !r.Has("datatype") && !r.Has("language"):
		w.fail(r, what, "its template %q is one reference: in YARRRML that is the value itself, which has the natural datatype of its "+
			"column; write a datatype, or use rr:column", template)
	case len(segments) == 1 && k == iriKind:
		w.fail(r, what, "its template %q is one reference: in YARRRML that is the value itself, which is not percent-encoded; "+
			"write text before or after the reference, or use rml:reference", template)
	}
	var b strings.Builder
	isShort := false
	for i, s := range segments {
		switch {
		case s.Ref != "" && strings.HasSuffix(b.String(), `\`):
			w.fail(r, what, "its template %q has a backslash before a reference: YARRRML cannot express that", template)
		case s.Ref != "":
			b.WriteString(referenceText(s.Ref))
			continue
		case i == 0 && k == iriKind:
			var name string
			name, s.Text = w.shortest(s.Text)
			if isShort = name != ""; isShort {
				b.WriteString(name + ":")
			}
		}
		b.WriteString(escapeText(s.Text))
	}
	if isShort {
		return b.String(), ""
	}
	return w.guard(b.String()), ""
}

// shortest returns the prefix for the beginning of an IRI, and the rest, or no prefix.
func (w *writer) shortest(iri string) (prefix, rest string) {
	rest = iri
	for _, p := range w.Prefixes {
		after, ok := strings.CutPrefix(iri, p.IRI)
		if ok && p.Name != "" && p.IRI == w.known[p.Name] && len(after) < len(rest) &&
			!strings.HasPrefix(after, "//") && !strings.HasPrefix(after, " ") {
			prefix, rest = p.Name, after
		}
	}
	w.used[prefix] = true
	return prefix, rest
}

// iriText returns an IRI, with a prefix where there is one.
func (w *writer) iriText(iri string) string {
	if prefix, rest := w.shortest(iri); prefix != "" && rest != "" {
		return prefix + ":" + escapeText(rest)
	}
	return w.guard(escapeText(iri))
}

// datatypeText is iriText where the reader cuts a kind.
func (w *writer) datatypeText(iri string) string {
	s := w.iriText(iri)
	if hasSuffix(s) {
		s += "~iri"
	}
	return s
}

// plainText returns text that has no references and no prefix.
func (w *writer) plainText(s string) string { return w.guard(escapeText(s)) }

// guard escapes the first colon of a text that would begin with a prefix.
func (w *writer) guard(s string) string {
	name, rest, ok := strings.Cut(s, ":")
	if _, known := w.known[name]; ok && known && !strings.HasPrefix(rest, "//") && !strings.HasPrefix(rest, " ") {
		return name + `\:` + rest
	}
	return s
}

// escapeText escapes what would begin a reference, and what would be an escape.
func escapeText(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.HasPrefix(s[i:], "$(") || (s[i] == ':' && i > 0 && s[i-1] == '\\') {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// referenceText returns a template that is one reference.
func referenceText(ref string) string {
	s := strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(ref)
	return "$(" + s + ")"
}
