package xmldoc

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The steps that evaluating one expression against one record may take, the
// larger of the two counts: moves between nodes, and one more for each textStep
// bytes of text read.
const (
	maxSteps        = 1 << 22
	maxStepsPerNode = 64
	textStep        = 64
)

// errTooManySteps ends an evaluation that would take too long.
var errTooManySteps = fmt.Errorf("the expression takes too many steps on this document, more than %d and than "+
	"%d for each node", maxSteps, maxStepsPerNode)

// allow sets the steps that the next evaluation may take.
func (d *Document) allow() {
	d.left = max(maxSteps, maxStepsPerNode*len(d.nodes))
}

// spend subtracts from the remaining steps.
func (d *Document) spend(steps int) {
	if d.left -= steps; d.left < 0 {
		panic(errTooManySteps)
	}
}

// evaluateTree evaluates an expression at a node, within the limit of steps.
func (d *Document) evaluateTree(e expression, at int32) (v value, err error) {
	d.allow()
	defer func() {
		if r := recover(); r != nil && r != any(errTooManySteps) {
			panic(r)
		} else if r != nil {
			err = errTooManySteps
		}
	}()
	return e.evaluate(d, focus{at: at, position: 1, size: 1}), nil
}

// value is the value of an expression; its kind selects the field.
type value struct {
	kind   kind
	nodes  []int32 // in document order, each once
	truth  bool
	number float64
	text   string
}

// focus is where an expression is evaluated.
type focus struct {
	at             int32
	position, size int
}

// truth returns a boolean as a value.
func truth(b bool) value { return value{kind: boolean, truth: b} }

// numeric returns a number as a value.
func numeric(n float64) value { return value{kind: number, number: n} }

// textual returns a string as a value.
func textual(s string) value { return value{kind: text, text: s} }

// boolean converts the value as boolean() does (section 4.3).
func (v value) boolean(*Document) bool {
	switch v.kind {
	case nodeSet:
		return len(v.nodes) > 0
	case number:
		return v.number != 0 && !math.IsNaN(v.number)
	case text:
		return v.text != ""
	}
	return v.truth
}

// num converts the value as number() does (section 4.4).
func (v value) num(d *Document) float64 {
	switch v.kind {
	case number:
		return v.number
	case boolean:
		if v.truth {
			return 1
		}
		return 0
	}
	return parseNumber(v.str(d))
}

// str converts the value as string() does (section 4.2).
func (v value) str(d *Document) string {
	switch v.kind {
	case nodeSet:
		if len(v.nodes) == 0 {
			return ""
		}
		return d.stringValue(v.nodes[0])
	case number:
		return formatNumber(v.number)
	case boolean:
		return strconv.FormatBool(v.truth)
	}
	return v.text
}

// stringValue returns the string-value of a node, and counts its length.
func (d *Document) stringValue(at int32) string {
	s := d.value(at)
	d.spend(1 + len(s)/textStep)
	return string(s)
}

// parseNumber reads a number as section 4.4 does: no sign but minus, no
// exponent.
func parseNumber(s string) float64 {
	s = strings.Trim(s, " \t\r\n")
	digits := strings.TrimPrefix(s, "-")
	if strings.Trim(digits, "0123456789.") != "" || strings.Trim(digits, ".") == "" {
		return math.NaN()
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(n, 0) {
		return math.NaN()
	}
	return n
}

// formatNumber writes a number as section 4.2 does.
func formatNumber(n float64) string {
	switch {
	case math.IsInf(n, 1):
		return "Infinity"
	case math.IsInf(n, -1):
		return "-Infinity"
	case n == 0:
		return "0" // also negative zero
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// constant is a literal or a number.
type constant struct{ value value }

func (c constant) kind() kind { return c.value.kind }

func (c constant) evaluate(*Document, focus) value { return c.value }

// negation is a number of minus signs before an expression.
type negation struct {
	of  expression
	odd bool
}

func (*negation) kind() kind { return number }

func (n *negation) evaluate(d *Document, f focus) value {
	v := n.of.evaluate(d, f).num(d)
	if n.odd {
		v = -v
	}
	return numeric(v)
}

// union is the nodes of two sets.
type union struct{ left, right expression }

func (*union) kind() kind { return nodeSet }

func (u *union) evaluate(d *Document, f focus) value {
	left, right := u.left.evaluate(d, f).nodes, u.right.evaluate(d, f).nodes
	both := make([]int32, 0, len(left)+len(right))
	for len(left) > 0 && len(right) > 0 {
		switch {
		case left[0] < right[0]:
			both, left = append(both, left[0]), left[1:]
		case left[0] > right[0]:
			both, right = append(both, right[0]), right[1:]
		default:
			left = left[1:]
		}
	}
	both = append(append(both, left...), right...)
	d.spend(len(both))
	return value{kind: nodeSet, nodes: both}
}

// filter selects the nodes of another expression that pass predicates.
type filter struct {
	from       expression
	predicates []expression
}

func (*filter) kind() kind { return nodeSet }

func (e *filter) evaluate(d *Document, f focus) value {
	nodes := e.from.evaluate(d, f).nodes
	for _, p := range e.predicates {
		nodes = keep(d, nodes, p)
	}
	return value{kind: nodeSet, nodes: nodes}
}

// operation is an operator between two expressions.
type operation struct {
	operator    string
	left, right expression
}

func (b *operation) kind() kind {
	switch b.operator {
	case "+", "-", "*", "div", "mod":
		return number
	}
	return boolean
}

func (b *operation) evaluate(d *Document, f focus) value {
	d.spend(1)
	left := b.left.evaluate(d, f)
	switch b.operator {
	case "or":
		return truth(left.boolean(d) || b.right.evaluate(d, f).boolean(d))
	case "and":
		return truth(left.boolean(d) && b.right.evaluate(d, f).boolean(d))
	}
	right := b.right.evaluate(d, f)
	if b.kind() == boolean {
		return truth(compare(d, b.operator, left, right))
	}
	x, y := left.num(d), right.num(d)
	switch b.operator {
	case "+":
		x += y
	case "-":
		x -= y
	case "*":
		x *= y
	case "div":
		x /= y
	case "mod":
		x = math.Mod(x, y)
	}
	return numeric(x)
}

// compare compares two values (section 3.4).
func compare(d *Document, operator string, left, right value) bool {
	switch {
	case left.kind == boolean && right.kind == nodeSet, left.kind == nodeSet && right.kind == boolean:
		return compareAtoms(d, operator, truth(left.boolean(d)), truth(right.boolean(d)))
	case left.kind == nodeSet && right.kind == nodeSet:
		return compareSets(d, operator, left.nodes, right.nodes)
	case left.kind == nodeSet:
		for _, at := range left.nodes {
			if compareAtoms(d, operator, textual(d.stringValue(at)), right) {
				return true
			}
		}
		return false
	case right.kind == nodeSet:
		for _, at := range right.nodes {
			if compareAtoms(d, operator, left, textual(d.stringValue(at))) {
				return true
			}
		}
		return false
	}
	return compareAtoms(d, operator, left, right)
}

// compareSets reports whether a comparison holds between any two nodes.
func compareSets(d *Document, operator string, left, right []int32) bool {
	if operator == "=" {
		texts := make(map[string]bool, len(left))
		for _, at := range left {
			texts[d.stringValue(at)] = true
		}
		for _, at := range right {
			if texts[d.stringValue(at)] {
				return true
			}
		}
		return false
	}
	for _, l := range left {
		text := textual(d.stringValue(l))
		for _, r := range right {
			if compareAtoms(d, operator, text, textual(d.stringValue(r))) {
				return true
			}
		}
	}
	return false
}

// compareAtoms compares two values that are not node sets.
func compareAtoms(d *Document, operator string, left, right value) bool {
	if operator == "=" || operator == "!=" {
		equal := false
		switch {
		case left.kind == boolean || right.kind == boolean:
			equal = left.boolean(d) == right.boolean(d)
		case left.kind == number || right.kind == number:
			equal = left.num(d) == right.num(d)
		default:
			equal = left.text == right.text
		}
		return equal == (operator == "=")
	}
	x, y := left.num(d), right.num(d)
	switch operator {
	case "<":
		return x < y
	case "<=":
		return x <= y
	case ">":
		return x > y
	}
	return x >= y
}
