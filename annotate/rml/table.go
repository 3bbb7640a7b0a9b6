package rml

import (
	"context"
	"errors"
	"io"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/rowdoc"
)

// tablePlan is a table, a query, or the join of two of them, as an input.
type tablePlan struct {
	columns *rowdoc.Compiler
	parent  Source // of a join; zero otherwise
	on      []JoinOn
}

// query returns what the database is asked for.
func (in *inputPlan) query() Query {
	q := Query{Source: in.source, Parent: in.table.parent, On: in.table.on}
	for _, c := range in.table.columns.Columns() {
		q.Columns = append(q.Columns, Column(c))
	}
	return q
}

// The size of a piece of a table: whichever is reached first.
const (
	pieceRows  = 1024
	pieceBytes = 256 << 10
)

// table loads the rows of a database piece by piece.
func (b *batch) table(ctx context.Context, in int, use func() error) (err error) {
	if b.files.Query == nil {
		return b.inputError(in, errors.New("the mapping reads a database, and none is given: Files.Query is nil"))
	}
	query := b.plan.inputs[in].query()
	rows, err := b.files.Query(ctx, query)
	if err != nil {
		return b.inputError(in, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	document := b.inputs[in].document.(*rowdoc.Document)
	document.Begin()
	row, values := make([]Cell, len(query.Columns)), make([]input.Value, len(query.Columns))
	b.inputs[in].piece = 0
	for first := true; ; first = false {
		last := false
		for !last && document.Rows() < pieceRows && document.Bytes() < pieceBytes {
			if err := rows.Next(row); errors.Is(err, io.EOF) {
				last = true
				break
			} else if err != nil {
				return b.inputError(in, err)
			}
			for i, cell := range row {
				values[i] = input.Value{Text: cell.Text, Kind: cell.Kind.input()}
			}
			document.Add(values)
		}
		clear(b.inputs[in].selected)
		b.loaded[in] = first && last
		if err := use(); err != nil || last {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		document.Clear()
		b.inputs[in].piece++
	}
}

// pushJoins creates a step for each join of a predicate-object map
// that the database can do, and returns the predicate-object map without those
// joins: nil when nothing is left.
func (c *compiler) pushJoins(tm *triplesMap, pom *predicateObjectMap) (*predicateObjectMap, error) {
	rest := *pom
	rest.objects = nil
	for _, om := range pom.objects {
		if !pushable(tm, pom, om) {
			rest.objects = append(rest.objects, om)
			continue
		}
		if err := c.pushJoin(tm, pom, om); err != nil {
			return nil, err
		}
	}
	if len(rest.objects) == len(pom.objects) {
		return pom, nil
	}
	if len(rest.objects) == 0 {
		return nil, nil
	}
	return &rest, nil
}

// pushable reports whether the database of a triples map can join it with the
// parent, and whether a row of the join has all that the statements need.
func pushable(tm *triplesMap, pom *predicateObjectMap, om *objectMap) bool {
	if om.parent == nil || len(om.joins) == 0 || tm.source.Kind != SourceDatabase ||
		om.parent.source.Kind != SourceDatabase || tm.source.Database != om.parent.source.Database {
		return false
	}
	for _, j := range om.joins {
		for _, side := range []*termMap{j.child, j.parent} {
			if side.kind != referenceExpression || side.condition != nil {
				return false
			}
		}
	}
	return rowOnly(tm.subject, om.parent.subject) && rowOnly(tm.graphs...) && rowOnly(pom.graphs...) && rowOnly(pom.predicates...)
}

// rowOnly reports whether term maps generate the same terms for a row wherever it
// is: no new blank nodes, no collections, no functions.
func rowOnly(maps ...*termMap) bool {
	for _, tm := range maps {
		if tm.kind == noExpression || tm.kind == functionExpression || tm.condition != nil || tm.gather != nil {
			return false
		}
	}
	return true
}

// pushJoin adds the step of one join: the subjects of the child, the
// predicates, and as objects the subjects of the parent, all of one row.
func (c *compiler) pushJoin(tm *triplesMap, pom *predicateObjectMap, om *objectMap) error {
	in := len(c.plan.inputs)
	plan := c.newInput(tm.source)
	plan.table.parent = om.parent.source.Source
	for _, j := range om.joins {
		plan.table.on = append(plan.table.on, JoinOn{Child: j.child.ref, Parent: j.parent.ref})
	}
	every, err := plan.compiler.CompileIterator("")
	if err != nil {
		return err
	}
	plan.iterators = []input.Path{every}
	plan.spread = []bool{false}
	c.plan.inputs = append(c.plan.inputs, plan)
	c.plan.sources = append(c.plan.sources, in)
	child := generatorCompiler{compiler: c, in: in, base: c.opts.chooseBase(tm)}
	s := &step{node: tm.node, input: in, joint: true}
	if s.subject, err = child.compile(tm.subject); err != nil {
		return err
	}
	if s.graphs, err = child.compileAll(tm.graphs); err != nil {
		return err
	}
	made := pomStep{node: pom.node}
	if made.predicates, err = child.compileAll(pom.predicates); err != nil {
		return err
	}
	if made.graphs, err = child.compileAll(pom.graphs); err != nil {
		return err
	}
	parent := generatorCompiler{compiler: c, in: in, base: c.opts.chooseBase(om.parent), parent: true, mention: true}
	object, err := parent.compile(om.parent.subject)
	if err != nil {
		return err
	}
	made.objects = []objectStep{{gen: object}}
	s.poms = []pomStep{made}
	c.joints = append(c.joints, s)
	return nil
}

// table explains an input that a database holds.
func (e *explanation) table(i int, in *inputPlan) {
	where := ""
	if in.source.Database.URL != "" {
		where = " of " + in.source.Database.String()
	}
	if in.table.parent.Kind == 0 {
		e.line(0, "input %d: %s%s, read row by row", i, in.source, where)
		return
	}
	e.line(0, "input %d: %s joined with %s by the database%s, read row by row", i, in.source, in.table.parent, where)
	for _, on := range in.table.on {
		e.line(1, "where child %s = parent %s", on.Child, on.Parent)
	}
}
