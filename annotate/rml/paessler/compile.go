package paessler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/scanner"
	"unicode/utf8"

	"github.com/PaesslerAG/gval"
	"github.com/PaesslerAG/jsonpath"

	"github.com/iotenablers/enablers/annotate/rml"
)

// errTooMany is the panic that ends an evaluation: the library continues after
// an error.
var errTooMany = fmt.Errorf("more than 1048576 nodes are selected: %w", rml.ErrLimit)

const (
	// maxNodes is how many nodes one evaluation may select.
	maxNodes = 1 << 20
	// maxCost is how many values an evaluation with ".." may visit.
	maxCost = 1 << 28
)

// query is a compiled path. It uses one if the path has at most one node, and
// several otherwise.
type query struct {
	one     gval.Evaluable
	several gval.Evaluable // an object with a member for each node
	sorted  bool           // whether it may select several members of an object
	descent int            // number of ".."
}

// compile compiles a path.
func compile(expr string, _ map[string]string) (selected func(node any) ([]any, error), err error) {
	defer recovered(&err)
	path, err := rewrite(expr)
	if err != nil {
		return nil, err
	}
	q := &query{descent: descents(path)}
	q.sorted = q.descent > 0 || strings.ContainsAny(path, "*?")
	if q.one, err = gval.Full(jsonpath.Language()).NewEvaluable(path); err != nil {
		return nil, err
	}
	if q.several, err = compileSeveral(path); err != nil {
		return nil, errors.New("the expression is not a path")
	}
	if !q.sorted && !strings.ContainsAny(path, ",:(") {
		q.several = nil
	}
	return q.evaluate, nil
}

// compileSeveral compiles a path for all of its nodes. The library returns them
// in a list without their places. Its placeholders have the places: {#0 : $.*}
// is an object with a member for each node, whose name is the match of the
// first wildcard. With a mark before the placeholders the name of the member is
// the number of the node, and the matches of the wildcards are recorded with
// it.
func compileSeveral(path string) (gval.Evaluable, error) {
	wildcards := strings.Count(path, "[") + strings.Count(path, "*") + descents(path) // at most
	object := utf8.AppendRune([]byte{'{'}, mark)
	for i := range wildcards {
		object = strconv.AppendInt(append(object, '#'), int64(i), 10)
	}
	object = append(append(append(object, "#:"...), path...), '}')
	language := gval.NewLanguage(gval.Full(), jsonpath.PlaceholderExtension(),
		gval.PrefixExtension(mark, markParser(wildcards)))
	return language.NewEvaluable(string(object))
}

// descents is how many ".." the library can read in a path. White space and
// comments may stand between the dots.
func descents(path string) int {
	var tokens scanner.Scanner
	tokens.Init(strings.NewReader(path))
	tokens.Error = func(*scanner.Scanner, string) {} // the library reports it
	count, before := 0, rune(0)
	for token := tokens.Scan(); token != scanner.EOF; token = tokens.Scan() {
		if token == '.' && before == '.' {
			count++
			token = 0
		}
		before = token
	}
	return max(count, strings.Count(path, ".."))
}

// evaluate selects from a node.
func (q *query) evaluate(at any) (nodes []any, err error) {
	defer recovered(&err)
	from, ok := at.(node)
	if !ok {
		return nil, fmt.Errorf("a %T is not a node of a JSON text", at)
	}
	if q.several == nil {
		value, err := q.one(context.Background(), from.value)
		if err != nil {
			return nil, nil // a name or an index that is not there
		}
		return []any{node{from.in, value}}, nil
	}
	cost := from.in.values
	for range q.descent {
		if cost *= from.in.depth; cost > maxCost {
			return nil, fmt.Errorf("the expression would take too long on %d values that are nested %d deep: %w",
				from.in.values, from.in.depth, rml.ErrLimit)
		}
	}
	found := &matches{}
	members, err := q.several(context.WithValue(context.Background(), matchesKey{}, found), from.value)
	if err != nil {
		return nil, err
	}
	return found.nodes(from.in, members, q.sorted)
}

// mark is the prefix operator that counts nodes.
const mark = '§'

// markParser parses the placeholders after the mark: one for each wildcard, and
// the one for all, without which the library requires at least one wildcard.
func markParser(wildcards int) func(context.Context, *gval.Parser) (gval.Evaluable, error) {
	return func(c context.Context, p *gval.Parser) (gval.Evaluable, error) {
		placeholders := make([]gval.Evaluable, wildcards+1)
		for i := range placeholders {
			var err error
			if placeholders[i], err = p.ParseNextExpression(c); err != nil {
				return nil, err
			}
		}
		return func(c context.Context, root any) (any, error) {
			found, ok := c.Value(matchesKey{}).(*matches)
			if !ok {
				return nil, errors.New("the mark is outside of a path")
			}
			var at []any
			for _, placeholder := range placeholders[:wildcards] {
				step, err := placeholder(c, root)
				if err != nil {
					break // the path has fewer wildcards
				}
				at = append(at, step)
			}
			return found.add(at), nil
		}, nil
	}
}

type matchesKey struct{}

// matches are the nodes of one evaluation, in the order of the library.
type matches struct {
	list []match
}

// match is one node with its place.
type match struct {
	name string // of its member
	at   []any  // the matches of the wildcards: names and indexes, lists of them for ".."
}

// add counts a node and returns the name of its member.
func (m *matches) add(at []any) string {
	if len(m.list) == maxNodes {
		panic(errTooMany)
	}
	name := strconv.Itoa(len(m.list))
	m.list = append(m.list, match{name: name, at: at})
	return name
}

// nodes returns the nodes in order.
func (m *matches) nodes(in *document, members any, sorted bool) ([]any, error) {
	values, ok := members.(map[string]any)
	if !ok || len(values) != len(m.list) {
		return nil, fmt.Errorf("the library gave %T for %d nodes", members, len(m.list))
	}
	if sorted {
		slices.SortStableFunc(m.list, func(a, b match) int { return slices.CompareFunc(a.at, b.at, compareSteps) })
	}
	nodes := make([]any, len(m.list))
	for i, found := range m.list {
		nodes[i] = node{in, values[found.name]}
	}
	return nodes, nil
}

// compareSteps orders indexes by number and before names, names bytewise, and
// lists of them element by element.
func compareSteps(a, b any) int {
	if way, ok := a.([]any); ok {
		other, _ := b.([]any)
		return slices.CompareFunc(way, other, compareSteps)
	}
	x, _ := a.(string)
	y, _ := b.(string)
	i, notX := strconv.Atoi(x)
	j, notY := strconv.Atoi(y)
	switch {
	case notX == nil && notY == nil && i != j:
		return cmp.Compare(i, j)
	case notX == nil && notY != nil:
		return -1
	case notX != nil && notY == nil:
		return 1
	}
	return cmp.Compare(x, y)
}

// recovered turns a panic into an error: those of the library, and errTooMany.
func recovered(err *error) {
	switch r := recover(); r {
	case nil:
	case errTooMany:
		*err = errTooMany
	default:
		*err = fmt.Errorf("the library panicked: %v", r)
	}
}
