package rml

import (
	"fmt"
	"slices"
	"strconv"
	"unsafe"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// viewBuilder builds the rows of a view from the input below it.
type viewBuilder struct {
	*Mapper
	plan  *viewPlan
	rows  *viewRows
	row   []viewCell // being filled in, column by column
	arena []byte     // what the cells refer to

	source int // records of the input below that were added
}

// buildView builds the rows of a view from the loaded sources.
func (m *Mapper) buildView(in int) error {
	b := m.newViewBuilder(in)
	records, err := m.records(b.plan.input, b.plan.iterator)
	if err != nil {
		return err
	}
	if err := b.add(records); err != nil {
		return err
	}
	return b.finish(in)
}

func (m *Mapper) newViewBuilder(in int) *viewBuilder {
	rows := m.inputs[in].document.(*viewRows)
	rows.cells = rows.cells[:0]
	return &viewBuilder{Mapper: m, plan: m.plan.inputs[in].view, rows: rows, row: make([]viewCell, rows.width)}
}

// add appends the rows of the records of the input below.
func (b *viewBuilder) add(records []input.Node) error {
	for _, record := range records {
		at := place{input: b.plan.input, record: record}
		clear(b.row)
		b.row[0] = b.position(b.source)
		if err := b.fields(b.plan.fields, at, nil, b.emitRow); err != nil {
			return err
		}
		b.source++
	}
	return nil
}

// finish joins the other views and prepares the rows for use.
func (b *viewBuilder) finish(in int) error {
	for _, join := range b.plan.joins {
		if err := b.join(in, join); err != nil {
			return err
		}
	}
	b.inputs[in].built = true
	return nil
}

func (b *viewBuilder) emitRow() error {
	if b.limit > 0 && b.rows.len() >= b.limit {
		return &MessageError{
			Node: b.plan.node.String(),
			Err:  fmt.Errorf("the view has more than %d rows: %w", b.limit, ErrLimit),
		}
	}
	b.rows.cells = append(b.rows.cells, b.row...)
	return b.room(b.rows.cells)
}

// room returns an error when the rows of the view take too much memory.
func (b *viewBuilder) room(rows []viewCell) error {
	if most := b.Mapper.plan.limits.MaxOutput; b.limit > 0 &&
		len(b.arena)+len(rows)*int(unsafe.Sizeof(viewCell{})) > most {
		return &MessageError{
			Node: b.plan.node.String(),
			Err:  fmt.Errorf("the rows of the view take more than %d bytes: %w", most, ErrLimit),
		}
	}
	return nil
}

// fields fills in the columns of fields for one record, and calls next for
// each combination of their values.
func (b *viewBuilder) fields(fields []*fieldPlan, at place, text []byte, next func() error) error {
	if len(fields) == 0 {
		return next()
	}
	return b.field(fields[0], at, text, func() error { return b.fields(fields[1:], at, text, next) })
}

// field fills in the columns of one field. A field without a value leaves its
// columns and those below it null.
func (b *viewBuilder) field(f *fieldPlan, at place, text []byte, next func() error) error {
	if err := b.tick(); err != nil {
		return err
	}
	if f.column < 0 {
		return b.iterable(f, at, text, next)
	}
	values, err := b.fieldValues(f, at)
	if err != nil {
		return err
	}
	if len(values) == 0 {
		b.clear(f)
		return next()
	}
	for i, v := range values {
		v.Text = b.keep(v.Text)
		b.row[f.column] = viewCell{value: v, valid: true}
		b.row[f.index] = b.position(i)
		if err := b.fields(f.fields, at, v.Text, next); err != nil {
			return err
		}
	}
	return nil
}

// iterable processes the records of an iterable field: those in the text of
// its parent, or those that its iterator selects from the record.
func (b *viewBuilder) iterable(f *fieldPlan, at place, text []byte, next func() error) error {
	var records []input.Node
	inner := at
	if f.nested >= 0 {
		inner.input = f.nested
		document := b.inputs[f.nested].document
		if bounded := b.inputs[f.nested].bounded; bounded != nil {
			bounded.Bound(b.memory())
		}
		err := document.Load(text)
		if err == nil {
			b.countIrregular(f.nested)
			records, err = document.Records(nil, f.iterator)
		}
		if err != nil {
			return b.fail(&generator{node: f.node}, at, at.record, err)
		}
	} else {
		values, err := b.inputs[at.input].document.Values(nil, at.record, f.iterator)
		if err != nil {
			return b.fail(&generator{node: f.node}, at, at.record, err)
		}
		for _, v := range values {
			if v.Kind != input.Null {
				records = append(records, v.Node)
			}
		}
	}
	if len(records) == 0 {
		b.clear(f)
		return next()
	}
	for i, record := range records {
		inner.record = record
		b.row[f.index] = b.position(i)
		if err := b.fields(f.fields, inner, nil, next); err != nil {
			return err
		}
	}
	return nil
}

// clear sets the columns of a field and of those below it to null.
func (b *viewBuilder) clear(f *fieldPlan) {
	b.row[f.index] = viewCell{}
	if f.column >= 0 {
		b.row[f.column] = viewCell{}
	}
	for _, nested := range f.fields {
		b.clear(nested)
	}
}

// fieldValues evaluates an expression field. A reference keeps the natural kind
// of its values; a reference that selects an object or an array is only for
// fields with nested fields.
func (b *viewBuilder) fieldValues(f *fieldPlan, at place) ([]input.Value, error) {
	if f.value.kind != referenceExpression || f.value.when != nil {
		values, err := b.texts([]*generator{f.value}, at)
		found := make([]input.Value, len(values))
		for i, text := range values {
			found[i] = input.Value{Text: []byte(text)}
		}
		return found, err
	}
	values, err := b.inputs[at.input].document.Values(nil, at.record, f.value.path)
	if err != nil {
		return nil, b.fail(f.value, at, at.record, err)
	}
	nulls := b.inputs[at.input].nulls
	values = slices.DeleteFunc(values, func(v input.Value) bool { return v.Kind == input.Null || isNull(v, nulls) })
	for _, v := range values {
		if v.Kind > input.Null && len(f.fields) == 0 {
			return nil, b.fail(f.value, at, v.Node, errNotScalar)
		}
	}
	return values, nil
}

// keep copies text that the input below may overwrite.
func (b *viewBuilder) keep(text []byte) []byte {
	start := len(b.arena)
	b.arena = append(b.arena, text...)
	return b.arena[start:len(b.arena):len(b.arena)]
}

// position is the cell of an index key.
func (b *viewBuilder) position(i int) viewCell {
	start := len(b.arena)
	b.arena = strconv.AppendInt(b.arena, int64(i), 10)
	return viewCell{value: input.Value{Text: b.arena[start:len(b.arena):len(b.arena)], Kind: input.Integer}, valid: true}
}

// join replaces each row by one row for each matching row of the parent view. A
// left join keeps a row without a match.
func (b *viewBuilder) join(in int, j *viewJoinPlan) error {
	parents, err := b.records(j.view, 0)
	if err != nil {
		return err
	}
	matches := make(map[string][]input.Node)
	for _, parent := range parents {
		err := b.combinations(j.parent, place{input: j.view, record: parent}, func(key []byte) {
			matches[string(key)] = append(matches[string(key)], parent)
		})
		if err != nil {
			return err
		}
	}
	// The rows so far are read through the document while the new ones grow.
	old, n := b.rows.cells, b.rows.len()
	var joined []viewCell
	once := make(map[string]struct{}) // the keys of a row
	for i := range n {
		var found []input.Node
		clear(once)
		err := b.combinations(j.child, place{input: in, record: input.Node(i)}, func(key []byte) {
			if _, again := once[string(key)]; !again {
				once[string(key)] = struct{}{}
				found = append(found, matches[string(key)]...)
			}
		})
		if len(once) > 1 { // a parent may agree in several ways
			found = distinct(found)
		}
		if err != nil {
			return err
		}
		copy(b.row, old[i*b.rows.width:])
		if len(found) == 0 && !j.inner {
			joined = append(joined, b.row...)
		}
		for k, parent := range found {
			at := place{input: j.view, record: parent}
			err := b.fields(j.fields, at, nil, func() error {
				for _, f := range j.fields {
					if b.row[f.column].valid {
						b.row[f.index] = b.position(k)
					}
				}
				joined = append(joined, b.row...)
				return b.room(joined)
			})
			if err != nil {
				return err
			}
			if b.limit > 0 && len(joined)/b.rows.width > b.limit {
				return &MessageError{
					Node: j.node.String(),
					Err:  fmt.Errorf("the view has more than %d rows: %w", b.limit, ErrLimit),
				}
			}
		}
	}
	b.rows.cells = joined
	return nil
}

// distinct returns the rows without duplicates.
func distinct(rows []input.Node) []input.Node {
	seen := make(map[input.Node]struct{}, len(rows))
	return slices.DeleteFunc(rows, func(n input.Node) bool {
		_, again := seen[n]
		seen[n] = struct{}{}
		return again
	})
}

// combinations calls use with the key of each combination of the values that a
// join compares.
func (b *viewBuilder) combinations(generators []*generator, at place, use func(key []byte)) error {
	text := len(b.text)
	values, ranges, err := b.keys(generators, at)
	if err != nil {
		return err
	}
	for more := len(b.ranges) > ranges; more; more = advance(b.ranges[ranges:]) {
		if err := b.tick(); err != nil {
			return err
		}
		use(b.joinKey(ranges))
	}
	b.values = b.values[:values]
	b.ranges = b.ranges[:ranges]
	b.text = b.text[:text]
	return nil
}
