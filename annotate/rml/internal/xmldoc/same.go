package xmldoc

import (
	"unsafe"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

const (
	// maxSame is the memory for the values of one input that are the same at every record. An
	// expression whose values do not fit is evaluated at each record.
	maxSame = 4 << 20
	// keptSame is the number of values for which a path keeps room from input to input.
	keptSame = 64
	// atRecord marks a value that is not a node: its place is that of the record.
	atRecord input.Node = -1
)

// kept is the values of one path.
type kept struct {
	known  bool
	values []input.Value
}

// sameValues appends the values of an expression that are the same at every record: it is
// evaluated at the first one only.
func (d *Document) sameValues(dst []input.Value, p *path, record input.Node) ([]input.Value, error) {
	from := len(dst)
	if p.id < len(d.same) && d.same[p.id].known {
		dst = append(dst, d.same[p.id].values...)
	} else {
		var err error
		if dst, err = d.values(dst, p, record, atRecord); err != nil {
			return dst, err
		}
		d.keep(p, dst[from:])
	}
	for i := from; i < len(dst); i++ {
		if dst[i].Node == atRecord {
			dst[i].Node = record
		}
	}
	return dst, nil
}

// keep keeps the values of a path until the next input.
func (d *Document) keep(p *path, values []input.Value) {
	size := len(values) * int(unsafe.Sizeof(input.Value{}))
	for _, v := range values {
		if v.Node == atRecord {
			size += len(v.Text)
		}
	}
	if d.sameSize+size > maxSame {
		return
	}
	d.sameSize += size
	for p.id >= len(d.same) {
		d.same = append(d.same, kept{})
	}
	k := &d.same[p.id]
	k.known = true
	k.values = append(k.values, values...)
}

// forgetSame drops the values of an input.
func (d *Document) forgetSame() {
	d.sameSize = 0
	d.evaluator.Forget()
	for i := range d.same {
		k := &d.same[i]
		if k.known = false; cap(k.values) > keptSame {
			k.values = nil
		}
		clear(k.values)
		k.values = k.values[:0]
	}
}
