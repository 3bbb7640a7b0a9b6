// Package workload makes the inputs of the RML benchmark: sources, mappings and
// the number of statements that a correct engine makes of them. The same sizes
// always give the same bytes, so records of different days compare.
package workload

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Group is what a case is part of.
type Group string

// The groups, in the order of the report. Those after Batch are axes of the
// KGC challenge.
const (
	Message    Group = "message"
	Batch      Group = "batch"
	Records    Group = "records"
	Columns    Group = "columns"
	Duplicates Group = "duplicates"
	Empty      Group = "empty"
	Mappings   Group = "mappings"
	Joins      Group = "joins"
)

// Names of the mapping files in the folder of a case. The sources of
// MappingFile are files; the source of StreamFile is a carml:Stream.
const (
	MappingFile = "mapping.ttl"
	StreamFile  = "stream.ttl"
)

// Source is one input file.
type Source struct {
	Name  string
	Write func(w io.Writer) error
}

// Case is one workload.
type Case struct {
	Group   Group
	Name    string // unique; fit for the name of a folder
	Sources []Source
	Mapping string
	Stream  string // the same mapping of a stream; only of messages
	// Statements is the number of distinct statements that come out.
	Statements int
}

// Sizes are the numbers of rows.
type Sizes struct {
	Batch int // of the batches and of the longest case of the records axis
	Axis  int // of the other axes; a multiple of 100
}

// Cases returns all workloads.
func Cases(s Sizes) []Case {
	cases := messages()
	cases = append(cases, batches(s)...)
	cases = append(cases, axes(s)...)
	return append(cases, joins(s.Axis)...)
}

// WriteTo writes the sources and the mappings of the case into a folder, which
// it creates.
func (c Case) WriteTo(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	sources := append([]Source{text(MappingFile, c.Mapping)}, c.Sources...)
	if c.Stream != "" {
		sources = append(sources, text(StreamFile, c.Stream))
	}
	for _, s := range sources {
		if err := s.writeTo(dir); err != nil {
			return fmt.Errorf("write workload %q: %w", c.Name, err)
		}
	}
	return nil
}

func (s Source) writeTo(dir string) error {
	file, err := os.Create(filepath.Join(dir, s.Name))
	if err != nil {
		return err
	}
	defer file.Close()
	w := bufio.NewWriterSize(file, 1<<20)
	if err := s.Write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Close()
}

func text(name, content string) Source {
	return Source{name, func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	}}
}

// predicateMap is the predicate-object map that takes one column.
type predicateMap struct{ column, datatype string }

const prefixes = `@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix carml: <http://carml.taxonic.com/carml/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix ex: <http://example.com/ns#> .
@base <http://example.com/mapping/> .
`

// triplesMap writes a triples map in the legacy vocabulary, which every peer
// reads. source is what stands behind rml:source, with its iterator.
func triplesMap(name, source, formulation, subject, class string, maps []predicateMap) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<#%s> a rr:TriplesMap ;\n  rml:logicalSource [ rml:source %s ; rml:referenceFormulation "+
		"ql:%s ] ;\n", name, source, formulation)
	fmt.Fprintf(&b, "  rr:subjectMap [ rr:template %q", subject)
	if class != "" {
		fmt.Fprintf(&b, " ; rr:class %s", class)
	}
	b.WriteString(" ]")
	for _, m := range maps {
		fmt.Fprintf(&b, " ;\n  rr:predicateObjectMap [ rr:predicate ex:%s ; rr:objectMap [ rml:reference %q",
			m.column, m.column)
		if m.datatype != "" {
			fmt.Fprintf(&b, " ; rr:datatype xsd:%s", m.datatype)
		}
		b.WriteString(" ] ]")
	}
	b.WriteString(" .\n")
	return b.String()
}
