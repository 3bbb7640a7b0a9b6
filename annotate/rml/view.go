package rml

import (
	"fmt"
	"strconv"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// viewPlan is a logical view, compiled. Its rows have one cell for each column
// of columns.
type viewPlan struct {
	node     node
	input    int // the input that it is built from
	iterator int
	columns  []string // names that a reference may use
	fields   []*fieldPlan
	joins    []*viewJoinPlan
}

// fieldPlan is a field of a view, compiled.
type fieldPlan struct {
	node     node
	column   int // of the value, or -1 for an iterable
	index    int // column of the position
	value    *generator
	iterator input.Path // of an iterable, evaluated on a record
	nested   int        // input that the text of the parent is loaded into, or -1
	fields   []*fieldPlan
}

// viewJoinPlan is a join of a view, compiled.
type viewJoinPlan struct {
	node   node
	view   int // input of the parent view
	inner  bool
	child  []*generator // keys, from a row of the child
	parent []*generator // keys, from a row of the parent
	fields []*fieldPlan
}

// viewCompiler resolves references to the columns of a view.
type viewCompiler struct {
	plan *viewPlan
	name string
}

// columnPath is a reference to a column.
type columnPath struct {
	name   string
	column int
}

// String returns the name of the column.
func (p columnPath) String() string { return p.name }

// CompileIterator returns the iterator of a view: it has only one.
func (c *viewCompiler) CompileIterator(expr string) (input.Path, error) {
	if expr != "" {
		return nil, fmt.Errorf("a logical view has no iterator of its own, got %q", expr)
	}
	return columnPath{}, nil
}

// CompileReference resolves the name of a field, or of its position.
func (c *viewCompiler) CompileReference(name string) (input.Path, error) {
	for i, column := range c.plan.columns {
		if column == name {
			return columnPath{name: name, column: i}, nil
		}
	}
	return nil, fmt.Errorf("%s has no column %q that can be referenced: expected one of %q", c.name, name, c.plan.columns)
}

// NewDocument returns the rows of the view, none to begin with.
func (c *viewCompiler) NewDocument() input.Document {
	return &viewRows{width: len(c.plan.columns)}
}

// viewRows are the rows of a view.
type viewRows struct {
	width int
	cells []viewCell
}

// viewCell is a value, or null if it is not valid.
type viewCell struct {
	value input.Value
	valid bool
}

// Load is never called: rows are built from another input.
func (v *viewRows) Load([]byte) error { return fmt.Errorf("a logical view has no data of its own") }

// Records returns the rows.
func (v *viewRows) Records(dst []input.Node, _ input.Path) ([]input.Node, error) {
	for i := range v.len() {
		dst = append(dst, input.Node(i))
	}
	return dst, nil
}

// Values returns the cell of a row, if it has a value.
func (v *viewRows) Values(dst []input.Value, row input.Node, path input.Path) ([]input.Value, error) {
	if cell := v.cells[int(row)*v.width+path.(columnPath).column]; cell.valid {
		cell.value.Node = row
		dst = append(dst, cell.value)
	}
	return dst, nil
}

// Place names a row.
func (v *viewRows) Place(n input.Node) string { return "row " + strconv.Itoa(int(n)) + " of the view" }

func (v *viewRows) len() int {
	if v.width == 0 {
		return 0
	}
	return len(v.cells) / v.width
}

// view compiles a logical view into an input of the plan.
func (c *compiler) view(source logicalSource) (int, error) {
	v := source.view
	plan := &viewPlan{node: v.node, columns: []string{"#"}}
	var err error
	if plan.input, plan.iterator, err = c.records(v.on); err != nil {
		return 0, err
	}
	base := generatorCompiler{compiler: c, in: plan.input}
	if plan.fields, err = c.fields(plan, v.fields, base); err != nil {
		return 0, err
	}
	in := len(c.plan.inputs)
	compiler := &viewCompiler{plan: plan, name: v.node.name}
	c.plan.inputs = append(c.plan.inputs, &inputPlan{source: source.Source, compiler: compiler, view: plan})
	child := generatorCompiler{compiler: c, in: in}
	for _, j := range v.joins {
		join, err := c.viewJoin(plan, j, child)
		if err != nil {
			return 0, err
		}
		plan.joins = append(plan.joins, join)
	}
	return in, nil
}

func (c *compiler) fields(plan *viewPlan, fields []*viewField, parent generatorCompiler) ([]*fieldPlan, error) {
	var compiled []*fieldPlan
	for _, f := range fields {
		fp := &fieldPlan{node: f.node, column: -1, nested: -1}
		inner := parent
		if f.iterable {
			if err := c.iterable(fp, f, &inner); err != nil {
				return nil, err
			}
		} else {
			if parent.text {
				return nil, f.node.errorf("its parent is not a record: expected an iterable field between them")
			}
			var err error
			if fp.value, err = parent.compileText(f.value); err != nil {
				return nil, err
			}
			inner.text = true
			fp.column = len(plan.columns)
			plan.columns = append(plan.columns, f.name)
		}
		fp.index = len(plan.columns)
		plan.columns = append(plan.columns, f.name+".#")
		var err error
		if fp.fields, err = c.fields(plan, f.fields, inner); err != nil {
			return nil, err
		}
		compiled = append(compiled, fp)
	}
	return compiled, nil
}

// iterable compiles a field that holds records. Under an expression field its
// records are part of the text of that field, which is an input of its own.
func (c *compiler) iterable(fp *fieldPlan, f *viewField, inner *generatorCompiler) error {
	if inner.text {
		if f.formulation == "" {
			return f.node.errorf("its parent is text: expected a referenceFormulation that says how to read it")
		}
		fp.nested = len(c.plan.inputs)
		source := logicalSource{node: f.node, details: &sourceDetails{namespaces: f.namespaces}}
		source.Formulation = f.formulation
		c.plan.inputs = append(c.plan.inputs, c.newInput(source))
		inner.in = fp.nested
		inner.text = false
		path, err := c.plan.inputs[fp.nested].compiler.CompileIterator(f.iterator)
		if err != nil {
			return f.node.errorf("its iterator is not valid: %v", err)
		}
		fp.iterator = path
		return nil
	}
	if have := c.plan.inputs[inner.in].source.Formulation; f.formulation != "" && f.formulation != have {
		return f.node.errorf("its referenceFormulation is %s inside of %s: expected an expression field between them",
			f.formulation, have)
	}
	path, err := c.plan.inputs[inner.in].compiler.CompileReference(f.iterator)
	if err != nil {
		return f.node.errorf("its iterator is not valid: %v", err)
	}
	fp.iterator = path
	return nil
}

func (c *compiler) viewJoin(plan *viewPlan, j *viewJoin, child generatorCompiler) (*viewJoinPlan, error) {
	join := &viewJoinPlan{node: j.node, inner: j.inner}
	var err error
	if join.view, _, err = c.records(j.parent); err != nil {
		return nil, err
	}
	parent := generatorCompiler{compiler: c, in: join.view}
	if join.child, join.parent, err = compileKeys(j.joins, child, parent); err != nil {
		return nil, err
	}
	join.fields, err = c.fields(plan, j.fields, parent)
	return join, err
}
