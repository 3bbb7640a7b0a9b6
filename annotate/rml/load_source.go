package rml

import (
	"path/filepath"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/document"
)

// formulations maps the terms for reference formulations, by local name.
var formulations = map[string]Formulation{
	"JSONPath": JSONPath, "XPath": XPath, "CSV": CSV, "XPathReferenceFormulation": XPath,
}

func (l *loader) logicalSource(t rdf.Term, parent node) (logicalSource, error) {
	r := l.About(t)
	if r.IsA("LogicalView") || r.Has("viewOn") {
		return l.view(r, parent)
	}
	source := logicalSource{
		node:    l.part(r, "logical source", parent),
		vocab:   r.Generation(),
		details: &sourceDetails{},
	}
	n := source.node
	if len(r.Statements) == 0 {
		return source, n.errorf("the mapping says nothing about it")
	}
	if err := l.known(r, n, "logical source"); err != nil {
		return source, err
	}
	if l.isTable(r) {
		return source, l.tableSource(r, &source)
	}
	if service := l.service(r); service != nil {
		return source, l.serviceSource(r, service, &source)
	}
	if l.asksFile(r) {
		return source, l.fileQuery(r, &source)
	}
	if err := l.formulation(r, &source); err != nil {
		return source, err
	}
	switch iterators := r.All("iterator"); {
	case len(iterators) > 1:
		return source, n.errorf("it has %d iterators: expected at most one", len(iterators))
	case len(iterators) == 1 && iterators[0].Kind != rdf.Literal:
		return source, n.errorf("its iterator is %s: expected an expression in quotes", l.Write(iterators[0]))
	case len(iterators) == 1:
		source.iterator = iterators[0].Value
	}
	return source, l.place(r, &source)
}

// place loads where a logical source reads.
func (l *loader) place(r *document.Resource, source *logicalSource) error {
	sources := r.All("source")
	if len(sources) != 1 {
		return source.node.errorf("it has %s: expected exactly one", count(len(sources), "source"))
	}
	if sources[0].Kind == rdf.Literal {
		source.Kind = SourceFile
		source.Name = sources[0].Value
		return nil
	}
	return l.source(l.About(sources[0]), source)
}

func (l *loader) formulation(r *document.Resource, source *logicalSource) error {
	n := source.node
	found := r.All("referenceFormulation")
	if len(found) != 1 {
		return n.errorf("it has %s: expected exactly one of ql:JSONPath, ql:XPath and ql:CSV",
			count(len(found), "referenceFormulation"))
	}
	if name, _, ok := document.LocalName(found[0].Value); ok && formulations[name] != "" {
		source.Formulation = formulations[name]
		return nil
	}
	described := l.About(found[0])
	if described.IsA("XPathReferenceFormulation") {
		source.Formulation = XPath
		if err := l.known(described, n, "formulation"); err != nil {
			return err
		}
		return l.namespaces(described, "namespace", source)
	}
	return n.errorf("its referenceFormulation is %s: expected ql:JSONPath, ql:XPath or ql:CSV, or their rml terms",
		l.Write(found[0]))
}

// source loads a described source: a CARML stream or file, an RML-IO path or
// a CSVW table.
func (l *loader) source(r *document.Resource, source *logicalSource) error {
	n := l.part(r, "source", source.node)
	kind := kindOfSource(r)
	if err := l.known(r, n, kind); err != nil {
		return err
	}
	if err := l.namespaces(r, "declaresNamespace", source); err != nil {
		return err
	}
	if kind == "thing" {
		return l.thing(r, n, source)
	}
	text := func(name string) string {
		for _, t := range r.All(name) {
			return t.Value
		}
		return ""
	}
	source.Kind = SourceFile
	var csvw []string
	switch kind {
	case "stream":
		source.Kind = SourceStream
		source.Name = text("streamName")
	case "file":
		source.Name = text("url")
	case "path":
		if err := l.path(r, n, text("path"), source); err != nil {
			return err
		}
	default:
		csvw = []string{"url"}
		if err := l.describedFile(r, n, source); err != nil {
			return err
		}
	}
	if source.Kind == SourceFile && source.Name == "" {
		return n.errorf("it names no file")
	}
	return l.reading(r, n, source, csvw...)
}

// kindOfSource returns which properties of the language a source may have.
func kindOfSource(r *document.Resource) string {
	switch {
	case r.IsA("Stream"):
		return "stream"
	case isThing(r):
		return "thing"
	case r.Has("url") || r.IsA("FileSource"):
		return "file"
	case r.Has("path"):
		return "path"
	}
	return "described file"
}

// reading loads how the bytes of a source are read.
func (l *loader) reading(r *document.Resource, n node, source *logicalSource, csvw ...string) error {
	for _, null := range r.All("null") {
		source.details.dialect.Null = append(source.details.dialect.Null, null.Value)
	}
	if err := l.csvw(r, n, source, csvw...); err != nil {
		return err
	}
	said := source.Encoding
	var err error
	if source.Encoding, err = l.encoding(r, n, said); err != nil {
		return err
	}
	if said != UTF8 && said != source.Encoding {
		return n.errorf("its encoding is another one than that of its dialect: expected one of them")
	}
	source.Compression, err = l.compression(r, n, Uncompressed)
	return err
}

// describedFile loads a file in the terms of another vocabulary: CSVW, VoID or
// DCAT.
func (l *loader) describedFile(r *document.Resource, n node, source *logicalSource) error {
	for _, property := range []string{document.NamespaceCSVW + "url", nsVoID + "dataDump", nsDCAT + "downloadURL"} {
		t, ok := r.Value(property)
		if !ok {
			continue
		}
		source.Name = t.Value
		if t.Kind == rdf.IRI {
			var err error
			if source.Name, err = fileOrWeb(t); err != nil {
				return n.errorf("its %s: %v", l.Shorten(property), err)
			}
		}
		return nil
	}
	return n.errorf("its kind is not known: expected a carml:Stream, a carml:FileSource with a url, a path, a " +
		"csvw:Table with a url, a void:dataDump, a dcat:downloadURL, or a file name in quotes")
}

// path loads a path of RML-IO.
func (l *loader) path(r *document.Resource, n node, name string, source *logicalSource) error {
	if source.Name = name; name == "" {
		return n.errorf("its path is empty")
	}
	source.details.dialect.Null = []string{} // without rml:null every cell is a value
	return l.loadRoot(r, n, source)
}

// loadRoot resolves the folder that a path starts at.
func (l *loader) loadRoot(r *document.Resource, n node, source *logicalSource) error {
	for _, root := range r.All("root") {
		name, _, ok := document.LocalName(root.Value)
		switch {
		case ok && name == "MappingDirectory":
		case ok && name == "CurrentWorkingDirectory":
			source.WorkingDirectory = true
		case root.Kind == rdf.IRI:
			dir, err := filePath(root)
			if err != nil {
				return n.errorf("its root: %v", err)
			}
			source.Name = filepath.Join(dir, source.Name)
		default:
			source.Name = filepath.Join(root.Value, source.Name)
		}
	}
	return nil
}

// namespaces loads the prefixes that XPath expressions may use.
func (l *loader) namespaces(r *document.Resource, property string, source *logicalSource) error {
	for _, t := range r.All(property) {
		nr := l.About(t)
		n := l.part(nr, "namespace", source.node)
		if err := l.known(nr, n, "namespace"); err != nil {
			return err
		}
		var ns namespace
		for _, s := range nr.Statements {
			switch s.Name {
			case "namespacePrefix":
				ns.prefix = s.Object.Value
			case "namespaceName", "namespaceURL":
				ns.iri = s.Object.Value
			}
		}
		if ns.prefix == "" || ns.iri == "" {
			return n.errorf("it is incomplete: expected a namespacePrefix and a namespaceName")
		}
		source.details.namespaces = append(source.details.namespaces, ns)
	}
	return nil
}
