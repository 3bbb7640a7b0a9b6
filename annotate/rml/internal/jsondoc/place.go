package jsondoc

import (
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// Place returns the JSON Pointer (RFC 6901) of a node: "" for the root,
// "/rows/0/name" for a member deeper down. Where an object repeats a name the
// pointer does not tell the members apart.
func (d *Document) Place(n input.Node) string {
	var b strings.Builder
	d.descend(n, func(t *node, index int) {
		b.WriteByte('/')
		if t.keyStart == 0 {
			b.WriteString(strconv.Itoa(index))
			return
		}
		b.WriteString(pointerEscape.Replace(string(d.key(t))))
	})
	return b.String()
}

// pointerEscape writes a reference token of RFC 6901 section 3.
var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// descend calls visit for every node on the way from the root down to n, the
// root left out, each with its position among its siblings.
func (d *Document) descend(n input.Node, visit func(t *node, index int)) {
	if !d.has(n) {
		return
	}
	for at := input.Node(0); at != n; {
		child, index := at+1, 0
		if d.stream != nil && int(at) < len(d.stream.levels) {
			index = d.stream.levels[at].skipped
		}
		for input.Node(d.tape[child].next) <= n {
			child, index = input.Node(d.tape[child].next), index+1
		}
		visit(&d.tape[child], index)
		at = child
	}
}
