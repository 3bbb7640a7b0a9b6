package rml

import (
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/document"
)

const (
	nsRDF   = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
	rdfList = nsRDF + "List"
)

// gather loads the collection that a term map generates, if any.
func (l *loader) gather(r *document.Resource, tm *termMap) error {
	lists := r.All("gather")
	if len(lists) == 0 {
		return nil
	}
	leave, err := l.enter(tm.node)
	if err != nil {
		return err
	}
	defer leave()
	kinds := r.All("gatherAs")
	if len(lists) != 1 || len(kinds) != 1 {
		return tm.node.errorf("it has %s and %s: expected exactly one of each", count(len(lists), "gather"),
			count(len(kinds), "gatherAs"))
	}
	g := &gatherMap{node: tm.node, as: kinds[0].Value}
	switch strings.TrimPrefix(g.as, nsRDF) {
	case "List", "Bag", "Seq", "Alt":
	default:
		return tm.node.errorf("its gatherAs is %s: expected rdf:List, rdf:Bag, rdf:Seq or rdf:Alt", l.Write(kinds[0]))
	}
	for _, strategy := range r.All("strategy") {
		switch name, _, _ := document.LocalName(strategy.Value); name {
		case "append":
		case "cartesianProduct":
			g.cartesian = true
		default:
			return tm.node.errorf("its strategy is %s: expected rml:append or rml:cartesianProduct", l.Write(strategy))
		}
	}
	for _, allow := range r.All("allowEmptyListAndContainer") {
		g.allowEmpty = allow.Value == "true" || allow.Value == "1"
	}
	members, err := l.members(lists[0], tm.node)
	if err != nil {
		return err
	}
	for _, member := range members {
		om, err := l.objectMap(member, tm.node)
		if err != nil {
			return err
		}
		g.maps = append(g.maps, om)
	}
	tm.gather = g
	return nil
}

// members returns the members of an RDF list in the mapping.
func (l *loader) members(list rdf.Term, n node) ([]rdf.Term, error) {
	var members []rdf.Term
	seen := make(map[rdf.Term]bool)
	for list.Value != rdf.Nil {
		cell := l.About(list)
		first, ok := cell.Value(rdf.First)
		rest, more := cell.Value(rdf.Rest)
		if !ok || !more || seen[list] {
			return nil, n.errorf("its gather is not a well-formed list: expected term maps in parentheses")
		}
		seen[list] = true
		members = append(members, first)
		list = rest
	}
	return members, nil
}
