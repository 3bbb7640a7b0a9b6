package xpath

import (
	"strconv"
	"strings"
)

// nodeFunctions are the functions on nodes (section 13 of Functions and Operators).
func nodeFunctions() map[string]function {
	return map[string]function{
		"name": def("| N?", ofName(func(n Name) string {
			if len(n.Prefix) > 0 {
				return string(n.Prefix) + ":" + string(n.Local)
			}
			return string(n.Local)
		})).reaching(inFocus),
		"local-name":    def("| N?", ofName(func(n Name) string { return string(n.Local) })).reaching(inFocus),
		"namespace-uri": def("| N?", ofName(func(n Name) string { return n.Space })).reaching(inFocus),
		"node-name": def("| N?", func(e *evaluation, f focus, a []sequence) sequence {
			n, ok := e.nodeArgument(f, a, 0)
			if !ok || len(e.tree.Name(n).Local) == 0 {
				return nil
			}
			name := e.tree.Name(n)
			if !e.holdText(len(name.Prefix) + 1 + len(name.Local)) {
				return nil
			}
			if len(name.Prefix) > 0 {
				return e.unit(item{typ: qname, s: string(name.Prefix) + ":" + string(name.Local)})
			}
			return e.unit(item{typ: qname, s: string(name.Local)})
		}).reaching(inFocus),
		"root": nodeFunction("| N?", func(e *evaluation, f focus, a []sequence) sequence {
			if _, ok := e.nodeArgument(f, a, 0); !ok {
				return nil
			}
			return e.unit(nodeAt(0))
		}).reaching(everywhere),
		"has-children": def("| N?", func(e *evaluation, f focus, a []sequence) sequence {
			n, ok := e.nodeArgument(f, a, 0)
			if !ok {
				return aTruth(false)
			}
			node := e.tree.Node(n)
			return aTruth(node.Kind <= Element && n+1+node.Attributes < node.End)
		}).reaching(inFocus),
		"lang":        def("s? | N", lang).reaching(everywhere),
		"path":        def("| N?", nodePath).reaching(everywhere),
		"generate-id": def("| N?", generateID).reaching(everywhere),
		"innermost":   nodeFunction("N*", innermost),
		"outermost": nodeFunction("N*", func(e *evaluation, _ focus, a []sequence) sequence {
			nodes := e.nodeSet(a[0])
			if !e.hold(len(nodes) * itemBytes) {
				return nil
			}
			return outermost(e.tree, nodes)
		}),
	}
}

// nodeArgument returns the node of an argument that may be left out.
func (e *evaluation) nodeArgument(f focus, a []sequence, at int) (int32, bool) {
	v := e.contextOr(f, a, at)
	if len(v) == 0 {
		return 0, false
	}
	if v[0].typ != nodeItem {
		e.fail("XPTY0004", "the context item is of type %v, expected a node", v[0].typ)
		return 0, false
	}
	return int32(v[0].n), true
}

// ofName returns a function of the name of a node.
func ofName(part func(Name) string) func(*evaluation, focus, []sequence) sequence {
	return func(e *evaluation, f focus, a []sequence) sequence {
		n, ok := e.nodeArgument(f, a, 0)
		if !ok || len(e.tree.Name(n).Local) == 0 {
			return e.oneText("")
		}
		return e.countedText(part(e.tree.Name(n)))
	}
}

func generateID(e *evaluation, f focus, a []sequence) sequence {
	n, ok := e.nodeArgument(f, a, 0)
	if !ok {
		return e.oneText("")
	}
	return e.oneText("n" + strconv.Itoa(int(n)))
}

func lang(e *evaluation, f focus, a []sequence) sequence {
	at, ok := e.nodeArgument(f, a, 1)
	want := strings.ToLower(text(a[0]))
	for ; ok && at >= 0 && e.spend(1); at = e.tree.Node(at).Parent {
		for i := at + 1; i <= at+e.tree.Node(at).Attributes; i++ {
			if name := e.tree.Name(i); name.Space == xmlSpace && string(name.Local) == "lang" {
				have := strings.ToLower(e.nodeText(int64(i)))
				return aTruth(have == want || strings.HasPrefix(have, want+"-"))
			}
		}
	}
	return aTruth(false)
}

func innermost(e *evaluation, _ focus, a []sequence) sequence {
	nodes := e.nodeSet(a[0])
	if !e.hold(len(nodes) * itemBytes) {
		return nil
	}
	var out sequence
	for i, n := range nodes {
		if i+1 < len(nodes) && int32(nodes[i+1].n) < e.tree.Node(int32(n.n)).End {
			continue
		}
		out = append(out, n)
	}
	return out
}

// nodePath writes the path of a node (section 14.2 of Functions and Operators).
func nodePath(e *evaluation, f focus, a []sequence) sequence {
	at, ok := e.nodeArgument(f, a, 0)
	if !ok {
		return nil
	}
	place := ""
	for at > 0 && e.spend(1) {
		node, name := e.tree.Node(at), e.tree.Name(at)
		full := "Q{" + name.Space + "}" + string(name.Local)
		if node.Kind == Attribute {
			if name.Space == "" {
				full = string(name.Local)
			}
			if !e.holdText(len(full) + len(place)) {
				return nil
			}
			place = "/@" + full + place
			at = node.Parent
			continue
		}
		position := 1
		e.siblings(node.Parent+1+e.tree.Node(node.Parent).Attributes, at, func(i int32, n Node) bool {
			other := e.tree.Name(i)
			if n.Kind == node.Kind && string(other.Local) == string(name.Local) && other.Space == name.Space {
				position++
			}
			return e.spend(1)
		})
		switch node.Kind {
		case Text:
			full = "text()"
		case Comment:
			full = "comment()"
		}
		if !e.holdText(len(full) + len(place)) {
			return nil
		}
		place = "/" + full + "[" + strconv.Itoa(position) + "]" + place
		at = node.Parent
	}
	if place == "" {
		place = "/"
	}
	return e.countedText(place)
}
