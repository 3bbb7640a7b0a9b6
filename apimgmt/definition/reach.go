package definition

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/internal/document"
)

// maxVisits is the number of values that a validator may visit that follows the references
// of each component, and of each place that uses one, to their ends. It is what
// bounds its time, which is not in proportion to the length of the file: in a ring
// of a thousand schemas it comes by each of them a thousand times.
const maxVisits = 30_000_000

// reach counts what can be reached through references.
type reach struct {
	root  *document.Node
	units map[string]*unit // by pointer: components, and what else is referred to
	limit int
}

// unit is a part of the file that is referred to as a whole.
type unit struct {
	node    *document.Node
	values  int
	refs    []string // pointers of units
	visited int      // by which search, for those that follow
}

// checkReach is an error if references make a file take too long to validate, or
// lead from one to the next too often.
func (c *checker) checkReach(root *document.Node, limit int) {
	r := &reach{root: root, units: map[string]*unit{}, limit: limit}
	components := root.Get("components")
	for _, kind := range members(components) {
		for _, component := range kind.Value.Members {
			r.units[component.Value.Pointer()] = &unit{node: component.Value}
		}
	}
	roots := map[string]int{} // how often each is used
	for _, pointer := range slices.Sorted(maps.Keys(r.units)) {
		u := r.units[pointer]
		r.collect(u.node, u)
		roots[pointer]++
	}
	rest := &unit{}
	for _, member := range root.Members {
		if member.Key != "components" {
			r.collect(member.Value, rest)
		}
	}
	for _, pointer := range rest.refs {
		roots[pointer]++
	}
	total, search := 0, 0
	for _, pointer := range slices.Sorted(maps.Keys(roots)) {
		times := roots[pointer]
		search++
		found, ok := r.visit(pointer, search, (limit-total)/times+1)
		total += found * times
		if !ok || total > limit {
			c.fail(r.units[pointer].node.Errorf("%w: references lead to more than %d values altogether", ErrLimit, limit))
			return
		}
	}
	for _, pointer := range slices.Sorted(maps.Keys(r.units)) {
		u := r.units[pointer]
		if u.node.Get("$ref") == nil {
			continue
		}
		if hops := r.hops(u); hops > maxHops {
			c.fail(u.node.Errorf("%w: more than %d references follow each other", ErrLimit, maxHops))
			return
		}
	}
}

// collect counts the values of a unit and finds its references.
func (r *reach) collect(n *document.Node, u *unit) {
	u.values++
	for _, item := range n.Items {
		r.collect(item, u)
	}
	for _, member := range n.Members {
		if ref, ok := member.Value.Str(); ok && strings.HasPrefix(member.Key, "$") {
			if pointer, ok := r.pointer(ref); ok {
				u.refs = append(u.refs, pointer)
			}
		}
		r.collect(member.Value, u)
	}
}

// pointer is the unit that a reference leads to.
func (r *reach) pointer(ref string) (string, bool) {
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return "", false
	}
	pointer, err := url.PathUnescape(pointer)
	if err != nil {
		return "", false
	}
	steps := strings.SplitN(pointer, "/", 4)
	if steps[0] == "components" && len(steps) >= 3 {
		pointer = "/" + strings.Join(steps[:3], "/")
		_, ok := r.units[pointer]
		return pointer, ok
	}
	pointer = "/" + pointer
	if _, ok := r.units[pointer]; ok {
		return pointer, true
	}
	node, ok := r.root.Resolve(pointer)
	if !ok {
		return "", false
	}
	u := &unit{node: node}
	r.units[pointer] = u // before its own references, which may lead back
	r.collect(node, u)
	return pointer, true
}

// visit counts the values that can be reached from a unit, up to a limit.
func (r *reach) visit(pointer string, search, limit int) (values int, ok bool) {
	open := []string{pointer}
	for len(open) > 0 {
		u := r.units[open[len(open)-1]]
		open = open[:len(open)-1]
		if u.visited == search {
			continue
		}
		u.visited = search
		if values += u.values; values > limit {
			return values, false
		}
		for _, ref := range u.refs {
			if r.units[ref].visited != search {
				open = append(open, ref)
			}
		}
	}
	return values, true
}

// hops is the number of references in a row that a unit begins with and that are nothing else.
func (r *reach) hops(u *unit) int {
	for n := 1; n <= maxHops; n++ {
		ref, ok := u.node.Get("$ref").Str()
		if !ok {
			return n
		}
		pointer, ok := r.pointer(ref)
		if !ok {
			return n
		}
		u = r.units[pointer]
	}
	return maxHops + 1
}
