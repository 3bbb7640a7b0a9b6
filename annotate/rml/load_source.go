package rml

import (
	"path/filepath"
	"strings"

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
		node:    l.node(r, "logical source of "+parent.name),
		vocab:   r.Generation(),
		details: &sourceDetails{},
	}
	if source.node.line == 0 {
		source.node.line = parent.line
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
		source.Kind, source.Name = SourceFile, sources[0].Value
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
		return l.namespaces(described, "namespace", source)
	}
	return n.errorf("its referenceFormulation is %s: expected ql:JSONPath, ql:XPath or ql:CSV, or their rml terms",
		l.Write(found[0]))
}

// source loads a described source: a CARML stream or file, an RML-IO path or
// a CSVW table.
func (l *loader) source(r *document.Resource, source *logicalSource) error {
	n := l.node(r, "source of "+source.node.name)
	if n.line == 0 {
		n.line = source.node.line
	}
	if err := l.known(r, n, "source"); err != nil {
		return err
	}
	if err := l.namespaces(r, "declaresNamespace", source); err != nil {
		return err
	}
	text := func(name string) string {
		for _, t := range r.All(name) {
			return t.Value
		}
		return ""
	}
	switch {
	case r.IsA("Stream"):
		source.Kind, source.Name = SourceStream, text("streamName")
		return nil
	case isThing(r):
		return l.thing(r, n, source)
	case r.Has("url") || r.IsA("FileSource"):
		source.Name = text("url")
	case r.Has("path"):
		source.Name = text("path")
		return l.path(r, n, source)
	default:
		if err := l.describedFile(r, n, source); err != nil {
			return err
		}
	}
	source.Kind = SourceFile
	if source.Name == "" {
		return n.errorf("it names no file")
	}
	return nil
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
		l.dialect(r, source)
		return nil
	}
	return n.errorf("its kind is not known: expected a carml:Stream, a carml:FileSource with a url, a path, a " +
		"csvw:Table with a url, a void:dataDump, a dcat:downloadURL, or a file name in quotes")
}

// path loads a path of RML-IO and how the file is to be read.
func (l *loader) path(r *document.Resource, n node, source *logicalSource) error {
	source.Kind = SourceFile
	if source.Name == "" {
		return n.errorf("its path is empty")
	}
	if err := l.rootOf(r, n, source); err != nil {
		return err
	}
	for _, null := range r.All("null") {
		source.details.dialect.nulls = append(source.details.dialect.nulls, null.Value)
	}
	if d := &source.details.dialect; d.nulls == nil {
		d.nulls = []string{} // without rml:null every cell is a value
	}
	var err error
	if source.Encoding, err = l.encoding(r, n, UTF8); err != nil {
		return err
	}
	source.Compression, err = l.compression(r, n, Uncompressed)
	return err
}

// rootOf resolves the folder that a path starts at.
func (l *loader) rootOf(r *document.Resource, n node, source *logicalSource) error {
	for _, root := range r.All("root") {
		name, _, ok := document.LocalName(root.Value)
		switch {
		case ok && name == "MappingDirectory":
		case ok && name == "CurrentWorkingDirectory":
			source.WorkingDirectory = true
		case root.Kind == rdf.IRI:
			dir, err := fileOf(root)
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
		n := l.node(nr, "namespace of "+source.node.name)
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

// dialect loads the dialect of a csvw:Table.
func (l *loader) dialect(r *document.Resource, source *logicalSource) {
	d := &source.details.dialect
	if null, ok := r.Value(document.NamespaceCSVW + "null"); ok {
		d.nulls = append(d.nulls, null.Value)
	}
	described, ok := r.Value(document.NamespaceCSVW + "dialect")
	if !ok {
		return
	}
	for _, s := range l.About(described).Statements {
		name, ok := strings.CutPrefix(s.Predicate, document.NamespaceCSVW)
		if !ok {
			continue
		}
		switch name {
		case "delimiter":
			d.delimiter = s.Object.Value
		case "quoteChar":
			d.quote = s.Object.Value
		case "commentPrefix":
			d.comment = s.Object.Value
		case "header":
			d.noHeader = s.Object.Value == "false" || s.Object.Value == "0"
		case "trim":
			d.trim = s.Object.Value == "true" || s.Object.Value == "1"
		}
	}
}
