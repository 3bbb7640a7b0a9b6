package rml

import (
	"slices"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/document"
)

// logicalView is a table over a logical source or of another
// view (RML-LV).
type logicalView struct {
	node   node
	on     logicalSource
	fields []*viewField
	joins  []*viewJoin
}

// viewField is a column of a view, or a sequence of records inside a column.
type viewField struct {
	node        node
	name        string // absolute: those of its ancestors and its own, with dots
	value       *termMap
	iterable    bool
	formulation Formulation // of an iterable; empty for that of its parent
	namespaces  []namespace
	iterator    string
	fields      []*viewField
}

// viewJoin adds columns of another view.
type viewJoin struct {
	node   node
	parent logicalSource
	inner  bool
	joins  []joinCondition
	fields []*viewField
}

// view loads a logical view in the place of a logical source.
func (l *loader) view(r *document.Resource, parent node) (logicalSource, error) {
	v := &logicalView{node: l.node(r, "logical view")}
	source := logicalSource{node: v.node, view: v, details: &sourceDetails{}}
	source.Kind = sourceView
	source.Name = l.Write(r.Term)
	if have := l.views[r.Term]; have != nil {
		source.view = have
		if !l.finished[have] {
			return source, v.node.errorf("it refers to itself")
		}
		return source, nil
	}
	leave, err := l.enter(v.node)
	if err != nil {
		return source, err
	}
	defer leave()
	l.views[r.Term] = v
	if err := l.known(r, v.node, "logical view"); err != nil {
		return source, err
	}
	bases := r.All("viewOn")
	if len(bases) != 1 {
		return source, v.node.errorf("it has %s: expected exactly one viewOn", count(len(bases), "viewOn"))
	}
	if v.on, err = l.logicalSource(bases[0], v.node); err != nil {
		return source, err
	}
	if v.fields, err = l.fields(r, v.node, "", nil); err != nil {
		return source, err
	}
	if len(v.fields) == 0 {
		return source, v.node.errorf("it has no field: expected at least one")
	}
	for _, s := range r.Statements {
		if s.Name != "leftJoin" && s.Name != "innerJoin" {
			continue
		}
		join, err := l.viewJoin(l.About(s.Object), v.node, s.Name == "innerJoin")
		if err != nil {
			return source, err
		}
		v.joins = append(v.joins, join)
	}
	l.finished[v] = true
	return source, v.checkNames()
}

// maxFieldName bounds the names of fields, which grow with their nesting.
const maxFieldName = 4096

// fields loads the fields of a view, a join or another field. A field that
// contains itself is a cycle.
func (l *loader) fields(r *document.Resource, parent node, prefix string, ancestors []rdf.Term) ([]*viewField, error) {
	var fields []*viewField
	for _, t := range r.All("field") {
		fr := l.About(t)
		f := &viewField{node: l.part(fr, "field", parent)}
		if slices.Contains(ancestors, t) {
			return nil, f.node.errorf("it contains itself")
		}
		leave, err := l.enter(f.node)
		if err != nil {
			return nil, err
		}
		names := fr.All("fieldName")
		if len(names) != 1 || names[0].Value == "" {
			return nil, f.node.errorf("it has %s: expected exactly one fieldName", count(len(names), "fieldName"))
		}
		f.name = prefix + names[0].Value
		if len(f.name) > maxFieldName {
			return nil, f.node.errorf("with those of its ancestors, its fieldName has %d bytes: expected at most %d",
				len(f.name), maxFieldName)
		}
		f.node.name = "field " + f.name + " of " + parent.name
		if err := l.field(fr, f); err != nil {
			return nil, err
		}
		nested, err := l.fields(fr, parent, f.name+".", append(slices.Clip(ancestors), t))
		if err != nil {
			return nil, err
		}
		leave()
		f.fields = nested
		fields = append(fields, f)
	}
	return fields, nil
}

// field loads what a single field holds.
func (l *loader) field(r *document.Resource, f *viewField) error {
	if err := l.known(r, f.node, "field"); err != nil {
		return err
	}
	f.iterable = r.IsA("IterableField") || r.Has("iterator") || r.Has("referenceFormulation")
	if !f.iterable {
		tm := &termMap{node: f.node, role: expressionRole, vocab: document.Modern, termType: literalTerm}
		if err := l.expression(r, tm); err != nil {
			return err
		}
		f.value = tm
		return l.condition(r, tm)
	}
	if iterators := r.All("iterator"); len(iterators) > 0 {
		f.iterator = iterators[0].Value
	}
	if !r.Has("referenceFormulation") {
		return nil
	}
	source := logicalSource{node: f.node, details: &sourceDetails{}}
	err := l.formulation(r, &source)
	f.formulation = source.Formulation
	f.namespaces = source.details.namespaces
	return err
}

func (l *loader) viewJoin(r *document.Resource, parent node, inner bool) (*viewJoin, error) {
	j := &viewJoin{node: l.part(r, "join", parent), inner: inner}
	if err := l.known(r, j.node, "view join"); err != nil {
		return nil, err
	}
	parents := r.All("parentLogicalView")
	if len(parents) != 1 {
		return nil, j.node.errorf("it has %s: expected exactly one parentLogicalView",
			count(len(parents), "parentLogicalView"))
	}
	var err error
	if j.parent, err = l.view(l.About(parents[0]), j.node); err != nil {
		return nil, err
	}
	if j.joins, err = l.joinConditions(r, j.node); err != nil {
		return nil, err
	}
	if len(j.joins) == 0 {
		return nil, j.node.errorf("it has no joinCondition: expected at least one")
	}
	if j.fields, err = l.fields(r, j.node, "", nil); err != nil {
		return nil, err
	}
	if len(j.fields) == 0 {
		return nil, j.node.errorf("it has no field: expected at least one")
	}
	for _, f := range j.fields {
		if f.iterable || len(f.fields) > 0 {
			return nil, f.node.errorf("a field of a join is not a simple expression: expected a reference, a template or " +
				"a constant, and no fields of its own")
		}
	}
	return j, nil
}

// checkNames returns an error for two fields of one name.
func (v *logicalView) checkNames() error {
	seen := make(map[string]bool)
	var check func(fields []*viewField) error
	check = func(fields []*viewField) error {
		for _, f := range fields {
			if seen[f.name] {
				return f.node.errorf("the view has two fields of the name %q", f.name)
			}
			seen[f.name] = true
			if err := check(f.fields); err != nil {
				return err
			}
		}
		return nil
	}
	if err := check(v.fields); err != nil {
		return err
	}
	for _, j := range v.joins {
		if err := check(j.fields); err != nil {
			return err
		}
	}
	return nil
}
