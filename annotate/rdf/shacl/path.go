package shacl

import (
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// maxPathDepth bounds how deep paths may be nested.
const maxPathDepth = 32

// pathKind is a kind of property path.
type pathKind uint8

const (
	predicatePath pathKind = iota
	inversePath            // of a predicate
	sequencePath
	alternativePath
	zeroOrMorePath
	oneOrMorePath
	zeroOrOnePath
)

// path is a property path. The inverse of a path that is not a predicate is compiled
// to a path of inverse predicates.
type path struct {
	kind      pathKind
	predicate id
	parts     []*path
}

// compilePath returns a path and its text in the syntax of SPARQL.
func (c *compiler) compilePath(shape, node rdf.Term, depth int) (*path, string, error) {
	if depth > maxPathDepth {
		return nil, "", c.doc.errorf(shape, "the path is recursive or nested more than %d deep", maxPathDepth)
	}
	if node.Kind == rdf.IRI && node.Value != rdf.Nil {
		return &path{kind: predicatePath, predicate: c.constant(node)}, string(rdf.AppendTerm(nil, node)), nil
	}
	if node.Kind != rdf.Blank {
		return nil, "", c.doc.errorf(shape, "the path %s is not a property path", show(node))
	}
	if len(c.doc.values(node, rdf.NewIRI(rdf.First))) > 0 {
		return c.compileParts(shape, "path", node, sequencePath, "/", depth)
	}
	for _, form := range []struct {
		name   string
		kind   pathKind
		suffix string
	}{
		{"inversePath", inversePath, ""}, {"alternativePath", alternativePath, ""}, {"zeroOrMorePath", zeroOrMorePath, "*"},
		{"oneOrMorePath", oneOrMorePath, "+"}, {"zeroOrOnePath", zeroOrOnePath, "?"},
	} {
		value, err := c.doc.one(node, form.name)
		if err != nil {
			return nil, "", c.doc.errorf(shape, "its path has several values of sh:%s", form.name)
		}
		if value.IsZero() {
			continue
		}
		if form.kind == alternativePath {
			return c.compileParts(shape, form.name, value, alternativePath, "|", depth)
		}
		inner, text, err := c.compilePath(shape, value, depth+1)
		if err != nil {
			return nil, "", err
		}
		if form.kind == inversePath {
			return inner.inverse(), "^" + text, nil
		}
		return &path{kind: form.kind, parts: []*path{inner}}, text + form.suffix, nil
	}
	return nil, "", c.doc.errorf(shape, "the path is neither an IRI, nor a list, nor has it one of the predicates of paths")
}

func (c *compiler) compileParts(shape rdf.Term, name string, list rdf.Term, kind pathKind, separator string, depth int) (
	*path, string, error,
) {
	members, err := c.doc.list(shape, name, list)
	if err != nil {
		return nil, "", err
	}
	if len(members) < 2 {
		return nil, "", c.doc.errorf(shape, "a list of the path has %d members, at least 2 are needed", len(members))
	}
	all, texts := &path{kind: kind}, make([]string, len(members))
	for i, member := range members {
		part, text, err := c.compilePath(shape, member, depth+1)
		if err != nil {
			return nil, "", err
		}
		if c.pathParts++; c.pathParts > maxPathParts {
			return nil, "", c.doc.errorf(shape, "the paths of the shapes graph have more than %d parts", maxPathParts)
		}
		all.parts, texts[i] = append(all.parts, part), text
	}
	return all, "(" + strings.Join(texts, separator) + ")", nil
}

// maxPathParts bounds the paths of a shapes graph: parts that are shared would
// multiply.
const maxPathParts = 1 << 14

func (p *path) inverse() *path {
	switch p.kind {
	case predicatePath:
		return &path{kind: inversePath, predicate: p.predicate}
	case inversePath:
		return &path{kind: predicatePath, predicate: p.predicate}
	}
	turned := &path{kind: p.kind, parts: make([]*path, len(p.parts))}
	for i, part := range p.parts {
		if p.kind == sequencePath {
			i = len(p.parts) - 1 - i
		}
		turned.parts[i] = part.inverse()
	}
	return turned
}

// follow returns the nodes that the path leads to from the nodes, without
// duplicates. The result may be shared with the graph and must not be changed.
func (r *run) follow(p *path, from []id) []id {
	switch p.kind {
	case predicatePath, inversePath:
		if len(from) == 1 {
			return r.step(p, from[0])
		}
		var all []id
		for _, node := range from {
			all = append(all, r.step(p, node)...)
		}
		return distinct(all)
	case sequencePath:
		for _, part := range p.parts {
			from = r.follow(part, from)
		}
		return from
	case alternativePath:
		var all []id
		for _, part := range p.parts {
			all = append(all, r.follow(part, from)...)
		}
		return distinct(all)
	case zeroOrOnePath:
		return distinct(append(append([]id(nil), from...), r.follow(p.parts[0], from)...))
	}
	reached := map[id]bool{}
	var all []id
	next := from
	if p.kind == oneOrMorePath {
		next = r.follow(p.parts[0], from)
	}
	for len(next) > 0 && r.err == nil {
		var fresh []id
		for _, node := range next {
			if !reached[node] {
				reached[node] = true
				fresh = append(fresh, node)
			}
		}
		all = append(all, fresh...)
		next = nil
		if len(fresh) > 0 {
			next = r.follow(p.parts[0], fresh)
		}
	}
	return distinct(all)
}

// step follows one predicate.
func (r *run) step(p *path, node id) []id {
	var found []id
	if p.kind == predicatePath {
		found = r.graph.objects(node, p.predicate)
	} else {
		found = r.graph.subjects(p.predicate, node)
	}
	r.spend(1 + len(found))
	return found
}
