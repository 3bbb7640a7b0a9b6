package yarrrml

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
)

// text returns a YAML string.
func text(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if strings.ContainsAny(s, "\n\r\t\u0085\u2028\u2029") {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// list returns a YAML list with a line for each item.
func list(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Content: items}
}

// flow returns a YAML list on one line.
func flow(items ...*yaml.Node) *yaml.Node {
	n := list(items...)
	n.Style = yaml.FlowStyle
	return n
}

// member is a key of an object with its value.
type member struct {
	key   string
	value *yaml.Node
}

// object returns a YAML object.
func object(members ...member) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode}
	for _, each := range members {
		add(m, each.key, each.value)
	}
	return m
}

func add(object *yaml.Node, key string, value *yaml.Node) {
	object.Content = append(object.Content, text(key), value)
}

// short returns the only item of a list in place of the list, and a list of texts on one line.
func short(l *yaml.Node) *yaml.Node {
	if len(l.Content) == 1 {
		return l.Content[0]
	}
	for _, item := range l.Content {
		if item.Kind != yaml.ScalarNode {
			return l
		}
	}
	l.Style = yaml.FlowStyle
	return l
}

// authors returns those who wrote the mapping.
func (w *writer) authors() *yaml.Node {
	authors := list()
	for _, subject := range w.Subjects {
		for _, s := range w.About(subject).Statements {
			if s.Predicate != nsDC+"contributor" {
				continue
			}
			w.visited[subject] = true
			person := w.About(s.Object)
			m := object()
			for _, p := range [][2]string{{"name", nsRDFS + "label"}, {"email", nsFOAF + "mbox"}, {"website", nsFOAF + "homepage"}} {
				if t, ok := person.Value(p[1]); ok {
					add(m, p[0], text(strings.TrimPrefix(t.Value, "mailto:")))
				}
			}
			if len(m.Content) > 0 {
				w.visited[s.Object] = true
				authors.Content = append(authors.Content, m)
			} else if s.Object.Kind == rdf.IRI {
				authors.Content = append(authors.Content, text(s.Object.Value))
			}
		}
	}
	return authors
}

// leftOut returns a finding for each node whose statements in other vocabularies are left out.
func (w *writer) leftOut() []rml.Finding {
	isWritten := map[string]bool{rdf.Type: true, nsRDFS + "label": true, nsDC + "contributor": true, nsVoID + "exampleResource": true,
		nsVoID + "dataDump": true, nsDCAT + "downloadURL": true, nsFOAF + "mbox": true, nsFOAF + "homepage": true}
	var findings []rml.Finding
	for _, subject := range w.Subjects {
		r := w.About(subject)
		if !w.visited[subject] {
			findings = append(findings, rml.Finding{Node: w.Write(subject), Line: r.Line,
				Message: "no triples map uses it, so it is left out"})
			continue
		}
		for _, s := range r.Statements {
			isOurs := (s.Name != "" && s.Name != "inverseExpression") ||
				strings.HasPrefix(s.Predicate, nsD2RQ) || strings.HasPrefix(s.Predicate, nsCSVW) ||
				isWritten[s.Predicate]
			if !isOurs {
				findings = append(findings, rml.Finding{Node: w.Write(subject), Line: r.Line,
					Message: fmt.Sprintf("its %s says nothing about the graph, so it is left out", w.Shorten(s.Predicate))})
			}
		}
	}
	return findings
}
