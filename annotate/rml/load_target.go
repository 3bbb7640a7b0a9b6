package rml

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/document"
)

const (
	nsFormats = "http://www.w3.org/ns/formats/"
	nsVoID    = "http://rdfs.org/ns/void#"
	nsDCAT    = "http://www.w3.org/ns/dcat#"
)

// serialization returns the format that a logical target names. Every Turtle
// document is one of Notation3.
func serialization(iri string) (rdf.Format, error) {
	iri = nsFormats + strings.TrimPrefix(iri, nsFormats)
	names := []string{"N3"}
	if iri == nsFormats+names[0] {
		return rdf.Turtle, nil
	}
	for _, f := range rdf.Formats() {
		name := f.Syntax().Identifier
		if iri == nsFormats+name {
			return f, nil
		}
		names = append(names, name)
	}
	return 0, fmt.Errorf("expected one of %s of %s", strings.Join(names, ", "), nsFormats)
}

// compressions are the ways to pack a file, by local name.
var compressions = map[string]Compression{
	"none": Uncompressed, "gzip": Gzip, "zip": Zip, "targz": TarGzip, "targzip": TarGzip, "tarxz": TarXZ,
}

// encodings are the character encodings, by local name.
var encodings = map[string]Encoding{"UTF-8": UTF8, "UTF-16": UTF16}

// targets loads the logical targets of a term map.
func (l *loader) targets(r *document.Resource, tm *termMap) error {
	for _, t := range r.All("logicalTarget") {
		tr := l.About(t)
		n := l.part(tr, "logical target", tm.node)
		if err := l.known(tr, n, "logical target"); err != nil {
			return err
		}
		places := tr.All("target")
		if len(places) != 1 {
			return n.errorf("it has %s: expected exactly one", count(len(places), "target"))
		}
		place := l.About(places[0])
		if err := l.known(place, n, "target"); err != nil {
			return err
		}
		target := Target{Format: rdf.NQuads}
		var err error
		if target.Name, target.WorkingDirectory, err = l.targetFile(place, n); err != nil {
			return err
		}
		for _, s := range tr.All("serialization") {
			if target.Format, err = serialization(s.Value); err != nil {
				return n.errorf("its serialization is %s: %v", l.Write(s), err)
			}
		}
		for _, described := range []*document.Resource{tr, place} {
			if target.Encoding, err = l.encoding(described, n, target.Encoding); err != nil {
				return err
			}
			if target.Compression, err = l.compression(described, n, target.Compression); err != nil {
				return err
			}
		}
		tm.targets = append(tm.targets, target)
	}
	return nil
}

// targetFile returns the file that a target describes.
func (l *loader) targetFile(r *document.Resource, n node) (name string, workingDirectory bool, err error) {
	for _, property := range []string{nsVoID + "dataDump", nsDCAT + "downloadURL", document.NamespaceCSVW + "url"} {
		if t, ok := r.Value(property); ok {
			name, err := filePath(t)
			if err != nil {
				return "", false, n.errorf("its %s: %v", l.Shorten(property), err)
			}
			return name, true, nil
		}
	}
	source := logicalSource{node: n, details: &sourceDetails{}}
	for _, path := range r.All("path") {
		source.Name = path.Value
	}
	if source.Name == "" {
		return "", false, n.errorf("its kind is not known: expected a path, a void:dataDump or a dcat:downloadURL")
	}
	source.WorkingDirectory = !r.Has("root")
	if err := l.loadRoot(r, n, &source); err != nil {
		return "", false, err
	}
	return source.Name, source.WorkingDirectory, nil
}

// filePath returns the path of a file IRI or of plain text.
func filePath(t rdf.Term) (string, error) {
	if t.Kind != rdf.IRI {
		return t.Value, nil
	}
	u, err := url.Parse(t.Value)
	if err != nil || u.Scheme != "file" {
		return "", errNotAFile(t.Value)
	}
	// file://./name is not a valid IRI of a file, but is often written.
	return filepath.FromSlash(u.Host + u.Path), nil
}

// named returns the value that a property names, or the current one without the property.
func named[T any](l *loader, r *document.Resource, n node, property string, known map[string]T, current T, expected string) (T, error) {
	for _, t := range r.All(property) {
		name, _, _ := document.LocalName(t.Value)
		value, ok := known[name]
		if !ok {
			return current, n.errorf("its %s is %s: expected %s", property, l.Write(t), expected)
		}
		current = value
	}
	return current, nil
}

func (l *loader) encoding(r *document.Resource, n node, current Encoding) (Encoding, error) {
	return named(l, r, n, "encoding", encodings, current, "rml:UTF-8 or rml:UTF-16")
}

func (l *loader) compression(r *document.Resource, n node, current Compression) (Compression, error) {
	return named(l, r, n, "compression", compressions, current, "rml:none, rml:gzip, rml:zip, rml:targz or rml:tarxz")
}
