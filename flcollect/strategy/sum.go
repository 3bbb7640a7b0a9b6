package strategy

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// stripBlocks is how many blocks of a tensor are summed by one goroutine at a
// time: 32,768 elements.
const stripBlocks = 64

// Sum is the exact sum of models, each times a factor. It may be used by
// several goroutines at once. Make one with [NewSum].
type Sum struct {
	form   Model
	kernel kernel
	parts  []part  // one a tensor
	strips []strip // the work, in order
	spare  *Spare  // nil for none

	mu     sync.RWMutex // Add locks
	memory []int64      // of all parts; nil once released
}

// part is the sum of one tensor.
type part struct {
	sums   []int64 // of blocks that are not empty
	blocks []block
}

// strip is some blocks of a tensor.
type strip struct{ tensor, from, to int }

// NewSum returns a sum of models that have the form of the given one. It is
// zero at first and takes 8 bytes an element.
func NewSum(form Model) *Sum { return newSum(form, nil) }

func newSum(form Model, spare *Spare) *Sum {
	s := &Sum{form: form, kernel: newKernel(), parts: make([]part, len(form)), strips: cutStrips(form), spare: spare}
	for i, t := range form {
		blocks := (t.Len() + blockLen - 1) / blockLen
		s.parts[i] = part{blocks: make([]block, blocks)}
	}
	s.openLocked()
	return s
}

// openLocked has memory ready, unless there is some. A sum takes it at the beginning: while updates
// are in memory, the garbage collector would have made room for them only.
func (s *Sum) openLocked() {
	if s.memory != nil {
		return
	}
	total := 0
	for _, t := range s.form {
		total += t.Len()
	}
	s.memory = s.spare.take(total)
	rest := s.memory
	for i, t := range s.form {
		s.parts[i].sums, rest = rest[:t.Len()], rest[t.Len():]
	}
}

// Release frees the memory of the sum, which is zero then. The next sum of the
// [Round.Spare] uses it.
func (s *Sum) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memory != nil {
		s.spare.swap(s.memory[:cap(s.memory)])
	}
	s.memory = nil
	for i := range s.parts {
		s.parts[i].sums = nil
		clear(s.parts[i].blocks)
	}
}

// cutStrips returns the strips of a model, in order.
func cutStrips(form Model) (strips []strip) {
	for i, t := range form {
		blocks := (t.Len() + blockLen - 1) / blockLen
		for from := 0; from < blocks; from += stripBlocks {
			strips = append(strips, strip{i, from, min(from+stripBlocks, blocks)})
		}
	}
	return strips
}

// Add adds factor times the model, which must have the form of the sum. The
// factor is finite and its absolute value is at most 2^62. A model with a number
// that is not finite, or of 2^128 and more, changes nothing; the error then names
// its tensor and element. Large models are added by several goroutines.
func (s *Sum) Add(model Model, factor float64) error {
	_, err := s.add(model, factor, nil)
	return err
}

// errEndless is returned for a model of finite numbers that is infinitely far from its base.
var errEndless = errors.New("its distance from the model of the round is not finite")

// addMeasured is Add. It returns besides how far the model is from a base of the same
// form, as the function distance does. If that is not finite, nothing changes.
func (s *Sum) addMeasured(model Model, factor float64, base Model, counters []bool) (lengths, error) {
	squares, err := s.add(model, factor, base)
	if err != nil {
		return lengths{}, err
	}
	far := added(s.strips, squares, counters)
	if far.finite() {
		return far, nil
	}
	if _, err := s.add(model, -factor, nil); err != nil {
		panic("strategy: numbers changed while they were summed: " + err.Error())
	}
	return lengths{}, errEndless
}

// add is Add. If there is a base, a model of the same form, it returns besides, for
// each strip, the squared distance of the model from it.
func (s *Sum) add(model Model, factor float64, base Model) (squares []float64, err error) {
	if err := s.check(model, factor); err != nil {
		return nil, err
	}
	if base != nil {
		squares = make([]float64, len(s.strips))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.openLocked()
	done := make([]int, len(s.strips)) // blocks that were added
	failed := s.each(func(k int) (err error) {
		where := s.strips[k]
		var far *gauge
		if base != nil {
			far = &gauge{kernel: s.kernel, base: base[where.tensor]}
			defer func() { squares[k] = far.total() }()
		}
		done[k], err = s.deposit(model, where, where.to-where.from, factor, far)
		return err
	})
	if failed == nil {
		return squares, nil
	}
	undone := s.each(func(k int) error {
		_, err := s.deposit(model, s.strips[k], done[k], -factor, nil)
		return err
	})
	if undone != nil {
		panic("strategy: numbers changed while they were summed: " + undone.Error())
	}
	return nil, failed
}

// check checks the arguments of Add.
func (s *Sum) check(model Model, factor float64) error {
	if !(factor >= -1<<62 && factor <= 1<<62) {
		return fmt.Errorf("factor %v is out of range", factor)
	}
	if len(model) != len(s.form) {
		return fmt.Errorf("%d tensors, expected %d", len(model), len(s.form))
	}
	for i, t := range model {
		if !slices.Equal(t.Shape(), s.form[i].Shape()) {
			return fmt.Errorf("tensor %d: %w: shape %v, expected %v", i, tensor.ErrShape, t.Shape(), s.form[i].Shape())
		}
	}
	return nil
}

// each calls do for the index of every strip and returns the first error in the
// order of the strips.
func (s *Sum) each(do func(k int) error) error {
	errs := make([]error, len(s.strips))
	parallel(len(s.strips), func(k int) { errs[k] = do(k) })
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// deposit adds the first blocks of a strip and returns how many it added. It measures
// them with a gauge, unless that is nil.
func (s *Sum) deposit(model Model, where strip, blocks int, factor float64, far *gauge) (int, error) {
	t, p := model[where.tensor], s.parts[where.tensor]
	var narrow [blockLen]float32
	var wide [blockLen]float64
	for done := range blocks {
		k := where.from + done
		from := k * blockLen
		sums := p.of(k)
		var bad *spike
		if t.DType() == tensor.Float32 {
			x := t.Float32s(from, len(sums), narrow[:])
			bad = p.blocks[k].add32(s.kernel, sums, x, factor)
			if far != nil && far.narrow(t) {
				far.add32(x, from)
			}
		} else {
			x := wide[:len(sums)]
			t.ReadFloat64s(x, from)
			bad = p.blocks[k].add64(sums, x, factor)
			if far != nil {
				far.add64(x, from)
			}
		}
		if bad != nil {
			return done, fmt.Errorf("tensor %d: element %d is %v", where.tensor, from+bad.at, bad.value)
		}
	}
	return blocks, nil
}

// Read puts the sums of a tensor's elements from an index on into dst, as many
// as it holds, each rounded to the nearest number of 64 bits. It panics if the
// range goes beyond the tensor.
func (s *Sum) Read(dst []float64, tensor, from int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p := s.parts[tensor]
	if length := s.form[tensor].Len(); from+len(dst) > length {
		panic(fmt.Sprintf("strategy: read elements %d to %d of a tensor of %d", from, from+len(dst), length))
	}
	for len(dst) > 0 {
		k, inside := from/blockLen, from%blockLen
		n := min(blockLen-inside, len(dst))
		p.blocks[k].read(dst[:n], p.of(k), inside)
		dst, from = dst[n:], from+n
	}
}

// ErrNoWeight is returned for a mean with a total weight of zero.
var ErrNoWeight = errors.New("strategy: the weights add up to zero")

// Mean returns the sum divided by weight, in the form of the sum.
func (s *Sum) Mean(weight float64) (Model, error) {
	if !(weight > 0) {
		return nil, ErrNoWeight
	}
	builders := make([]*tensor.Builder, len(s.form))
	for i, t := range s.form {
		builders[i] = tensor.NewBuilder(t.DType(), t.Shape())
	}
	parallel(len(s.strips), func(k int) {
		where := s.strips[k]
		var values [blockLen]float64
		for block := where.from; block < where.to; block++ {
			from := block * blockLen
			part := values[:min(blockLen, s.form[where.tensor].Len()-from)]
			s.Read(part, where.tensor, from)
			for i := range part {
				part[i] /= weight
			}
			builders[where.tensor].Write(part, from)
		}
	})
	made := make(Model, len(s.form))
	for i, b := range builders {
		made[i] = b.Tensor()
	}
	return made, nil
}

// Map makes a model of the given form. The function is called for pieces of
// every layer in turn and sets the values of the elements from an index on.
func Map(form Model, set func(values []float64, layer, from int)) Model {
	made := make(Model, len(form))
	values := make([]float64, 4096)
	for layer, t := range form {
		builder := tensor.NewBuilder(t.DType(), t.Shape())
		for from := 0; from < t.Len(); from += len(values) {
			part := values[:min(len(values), t.Len()-from)]
			set(part, layer, from)
			builder.Write(part, from)
		}
		made[layer] = builder.Tensor()
	}
	return made
}
