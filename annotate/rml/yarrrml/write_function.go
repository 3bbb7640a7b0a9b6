package yarrrml

import (
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/document"
)

// call returns the function of a term map, and its parameters with their values.
func (w *writer) call(t rdf.Term) (function, parameters *yaml.Node) {
	const what = "function value"
	r := w.About(t)
	w.visited[t] = true
	for _, source := range r.All("logicalSource") {
		w.visited[source] = true
	}
	function, parameters = text(""), list()
	for _, pom := range r.All("predicateObjectMap") {
		p := w.about(pom, "predicate-object map of a function value", "predicate", "predicateMap", "object", "objectMap")
		parameter := w.parameterName(p)
		values := list()
		for _, s := range p.Statements {
			var value termText
			switch s.Name {
			case "object":
				value = w.constant(p, "object", s.Object)
			case "objectMap":
				value = w.termMap(s.Object, "argument", argumentRole, "datatype", "datatypeMap", "language", "languageMap")
			default:
				continue
			}
			if parameter == nsFNO+"executes" || parameter == "http://semweb.datasciencelab.be/ns/function#executes" {
				if strings.ContainsAny(value.value, "()") {
					w.fail(p, what, "YARRRML cannot express the name of its function <%s>: expected no parenthesis", value.iri)
				}
				function = text(value.value)
				continue
			}
			values.Content = append(values.Content, value.node(literalKind))
		}
		if len(values.Content) > 0 {
			parameters.Content = append(parameters.Content, flow(text(w.iriText(parameter)), short(values)))
		}
	}
	return function, parameters
}

// parameterName returns the IRI of a parameter.
func (w *writer) parameterName(r *document.Resource) string {
	for _, t := range r.All("predicate") {
		return t.Value
	}
	for _, t := range r.All("predicateMap") {
		w.visited[t] = true
		for _, constant := range w.About(t).All("constant") {
			return constant.Value
		}
	}
	return ""
}

// target returns a logical target.
func (w *writer) target(t rdf.Term) *yaml.Node {
	const what = "logical target"
	r := w.about(t, what, "target", "serialization", "compression", "encoding")
	m := object()
	encodings, compressions := r.All("encoding"), r.All("compression")
	for _, place := range r.All("target") {
		p := w.about(place, what, "path", "root", "encoding", "compression")
		name, kind := w.targetFile(p)
		add(m, "access", text(name))
		add(m, "type", text(kind))
		encodings, compressions = append(encodings, p.All("encoding")...), append(compressions, p.All("compression")...)
	}
	for _, s := range r.All("serialization") {
		for name, format := range serializations() {
			if s.Value == nsFormats+format {
				add(m, "serialization", text(name))
			}
		}
	}
	for _, e := range encodings {
		if name, _, _ := document.LocalName(e.Value); name != "UTF-8" {
			w.fail(r, what, "YARRRML cannot express its encoding %s", w.Write(e))
		}
	}
	if len(compressions) > 0 {
		if name, _, _ := document.LocalName(compressions[len(compressions)-1].Value); name != "none" {
			add(m, "compression", text(name))
		}
	}
	return m
}

// targetFile returns the file of a target and its type.
func (w *writer) targetFile(r *document.Resource) (name, kind string) {
	for _, p := range [][2]string{{nsVoID + "dataDump", "void"}, {nsDCAT + "downloadURL", "dcat"}, {nsCSVW + "url", "localfile"}} {
		if t, ok := r.Value(p[0]); ok {
			return fileName(t), p[1]
		}
	}
	for _, root := range r.All("root") {
		if name, _, _ := document.LocalName(root.Value); name != "CurrentWorkingDirectory" {
			w.fail(r, "logical target", "YARRRML cannot express its root %s: expected rml:CurrentWorkingDirectory", w.Write(root))
		}
	}
	for _, path := range r.All("path") {
		return path.Value, "localfile"
	}
	return "", ""
}

// fileName returns the path of a file that a mapping names by its IRI or by text.
func fileName(t rdf.Term) string {
	if t.Kind != rdf.IRI {
		return t.Value
	}
	u, err := url.Parse(t.Value)
	if err != nil {
		return t.Value
	}
	return u.Host + u.Path
}
