package compress

import (
	"fmt"
	"math"
	"slices"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// DefaultShare is the share of a layer's elements that [TopK] sends by default.
const DefaultShare = 0.01

// Config configures an [Encoder].
type Config struct {
	// Kind is how updates are compressed; required.
	Kind Kind
	// Share is the share of a layer's elements that [TopK] sends, above 0 and at most
	// 1, at least one element. Zero means [DefaultShare].
	Share float64
	// Forget turns off error feedback: what an update leaves out is lost.
	Forget bool
}

// Encoder compresses the updates of one client. It keeps the residual of error
// feedback between the updates, a float32 for each number of the model, so use it for
// one training. It serves one goroutine. Make one with [NewEncoder].
type Encoder struct {
	config   Config
	residual [][]float32 // of each layer; nil for none
}

// NewEncoder returns an encoder without a residual.
func NewEncoder(config Config) (*Encoder, error) {
	if err := config.Kind.check(); err != nil {
		return nil, err
	}
	if config.Share == 0 {
		config.Share = DefaultShare
	}
	if !(config.Share > 0 && config.Share <= 1) {
		return nil, fmt.Errorf("compress: a share of %v, expected above 0 and at most 1", config.Share)
	}
	return &Encoder{config: config}, nil
}

// Encode returns the compressed form of a trained model, as an answer to the
// instruction that had the model sent. Layers must have the shapes of those that were
// sent, and finite numbers. If the layers have other shapes than the last time, the
// residual starts again from nothing; after an error it is as before.
func (e *Encoder) Encode(trained, sent []tensor.Tensor) (flower.Parameters, error) {
	if len(trained) != len(sent) {
		return flower.Parameters{}, fmt.Errorf("compress update: %d layers, the model has %d", len(trained), len(sent))
	}
	p := flower.Parameters{Type: e.config.Kind.parametersType(), Tensors: make([]flower.Blob, len(trained))}
	residual := make([][]float32, len(trained))
	fits := len(e.residual) == len(sent)
	for i := range e.residual {
		fits = fits && (e.residual[i] == nil || len(e.residual[i]) == sent[i].Len())
	}
	for i := range trained {
		if !slices.Equal(trained[i].Shape(), sent[i].Shape()) {
			return flower.Parameters{}, fmt.Errorf("compress update: layer %d has the shape %v, that of the model %v", i,
				trained[i].Shape(), sent[i].Shape())
		}
		var before []float32
		if fits && !e.config.Forget {
			before = e.residual[i]
		}
		var err error
		if p.Tensors[i], residual[i], err = e.layer(trained[i], sent[i], before); err != nil {
			return flower.Parameters{}, fmt.Errorf("compress update: layer %d: %w", i, err)
		}
	}
	e.residual = residual
	return p, nil
}

// parametersType returns the type of parameters of a kind.
func (k Kind) parametersType() string {
	switch k {
	case Int8:
		return Int8Type
	case TopK:
		return TopKType
	}
	return flower.NumPy
}

// layer compresses a layer, and returns what it leaves out.
func (e *Encoder) layer(trained, sent tensor.Tensor, before []float32) (flower.Blob, []float32, error) {
	whole := flower.Blob(tensor.Encode(trained)) // what was left out before is left for later
	if trained.DType().IsInteger() || sent.DType().IsInteger() || trained.Len() == 0 {
		return whole, nil, nil
	}
	target := trained.Float64s() // what was to be sent, with the residual
	base := make([]float64, len(target))
	if e.config.Kind != Float16 {
		sent.ReadFloat64s(base, 0)
	}
	for i := range target {
		target[i] -= base[i]
		if before != nil {
			target[i] += float64(before[i])
		}
		if v := target[i]; math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, nil, fmt.Errorf("element %d is not finite", i)
		}
	}
	parts, rest, ok := e.squeeze(target, trained.Shape())
	if !ok {
		return whole, before, nil
	}
	var blob flower.Blob
	for _, part := range parts {
		blob = append(blob, tensor.Encode(part)...)
	}
	if blob.Len() >= whole.Len() {
		return whole, before, nil
	}
	if e.config.Forget {
		return blob, nil, nil
	}
	return blob, rest, nil
}

// squeeze returns the parts of a layer that hold its target, and what they leave out. It
// returns false if they cannot hold it.
func (e *Encoder) squeeze(target []float64, shape []int) (parts []tensor.Tensor, rest []float32, ok bool) {
	switch e.config.Kind {
	case Int8:
		return quantize(target, shape)
	case TopK:
		return e.pick(target)
	}
	b := tensor.NewBuilder(tensor.Float16, shape)
	for _, v := range target {
		if !tensor.Float16.Holds(v) {
			return nil, nil, false
		}
	}
	b.Write(target, 0)
	half := b.Tensor()
	return []tensor.Tensor{half}, difference(target, half.Float64s()), true
}

func difference(target, sent []float64) []float32 {
	rest := make([]float32, len(target))
	for i, v := range target {
		rest[i] = float32(v - sent[i])
	}
	return rest
}

// leastRow is how many elements a row has to have for a scale of its own.
const leastRow = 32

// quantize returns the scales and the steps of a layer.
func quantize(target []float64, shape []int) (parts []tensor.Tensor, rest []float32, ok bool) {
	rows := 1
	scales := []int{}
	if len(shape) > 1 && len(target)/shape[0] >= leastRow {
		rows, scales = shape[0], shape[:1]
	}
	width := len(target) / rows
	scale, q := tensor.NewBuilder(tensor.Float32, scales), tensor.NewBuilder(tensor.Int8, shape)
	rest = make([]float32, len(target))
	steps := make([]float64, width)
	for row := range rows {
		part := target[row*width : (row+1)*width]
		most := 0.0
		for _, v := range part {
			most = max(most, math.Abs(v))
		}
		if !tensor.Float32.Holds(most) {
			return nil, nil, false
		}
		step := float64(float32(most / math.MaxInt8))
		for i, v := range part {
			steps[i] = 0
			if step > 0 {
				steps[i] = min(max(math.RoundToEven(v/step), -math.MaxInt8), math.MaxInt8)
			}
			rest[row*width+i] = float32(v - step*steps[i])
		}
		scale.Write([]float64{step}, row)
		q.Write(steps, row*width)
	}
	return []tensor.Tensor{scale.Tensor(), q.Tensor()}, rest, true
}

// pick returns the indices and values of the greatest elements of a layer.
func (e *Encoder) pick(target []float64) (parts []tensor.Tensor, rest []float32, ok bool) {
	if int64(len(target)) > math.MaxUint32 {
		return nil, nil, false
	}
	k := max(1, int(math.Ceil(e.config.Share*float64(len(target)))))
	sizes := make([]float64, len(target))
	for i, v := range target {
		sizes[i] = math.Abs(v)
	}
	least, equal := kthLargest(sizes, k)
	rest = make([]float32, len(target))
	indices, values := make([]float64, 0, k), make([]float64, 0, k)
	for i, v := range target {
		size := math.Abs(v)
		if size < least || size == least && equal == 0 {
			rest[i] = float32(v)
			continue
		}
		if size == least {
			equal--
		}
		single := float32(v)
		if math.IsInf(float64(single), 0) {
			return nil, nil, false
		}
		indices, values = append(indices, float64(i)), append(values, float64(single))
		rest[i] = float32(v - float64(single))
	}
	at, what := tensor.NewBuilder(tensor.Uint32, []int{k}), tensor.NewBuilder(tensor.Float32, []int{k})
	at.Write(indices, 0)
	what.Write(values, 0)
	return []tensor.Tensor{at.Tensor(), what.Tensor()}, rest, true
}

// kthLargest returns the k-th largest of values, 1 for the largest, and how many of the
// k largest are equal to it. It changes the order of the values.
func kthLargest(values []float64, k int) (least float64, equal int) {
	low, high, want := 0, len(values)-1, k-1
	for low < high {
		pivot := values[low+(high-low)/2]
		i, j := low, high
		for i <= j {
			for values[i] > pivot {
				i++
			}
			for values[j] < pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i++
				j--
			}
		}
		switch {
		case want <= j:
			high = j
		case want >= i:
			low = i
		default:
			low, high = want, want
		}
	}
	least = values[want]
	for _, v := range values[:k] {
		if v == least {
			equal++
		}
	}
	return least, equal
}
