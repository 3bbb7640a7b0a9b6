package secagg

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// piece is the number of elements that a mask is computed and added by.
const piece = 1 << 14

// sum is a sum of masked vectors: the weight, then the numbers of all arrays.
type sum interface {
	// add adds a vector of tensors that were checked.
	add(arrays []tensor.Tensor)

	// unmask adds or subtracts masks, several at once.
	unmask(ctx context.Context, masks []hidden, workers int) error

	// at puts elements from an index on into dst.
	at(dst []uint64, from int)
}

// hidden is a mask to remove from a sum.
type hidden struct {
	seed []byte
	add  bool // it had been subtracted
}

// newSum returns a sum of zeros.
func newSum(length int, modulus int64) sum {
	if modulus <= 1<<32 {
		return &vector[uint32]{modulus: uint64(modulus), elements: make([]uint32, length)}
	}
	return &vector[uint64]{modulus: uint64(modulus), elements: make([]uint64, length)}
}

// vector is a sum whose elements wrap around at a power of 2 that the modulus divides.
type vector[W word] struct {
	modulus  uint64
	elements []W
}

func (v *vector[W]) add(arrays []tensor.Tensor) {
	at := 0
	for _, array := range arrays {
		for _, chunk := range array.Chunks() {
			for ; len(chunk) >= 8; chunk = chunk[8:] {
				v.elements[at] += W(binary.LittleEndian.Uint64(chunk))
				at++
			}
		}
	}
}

func (v *vector[W]) unmask(ctx context.Context, masks []hidden, workers int) error {
	locks := make([]sync.Mutex, (len(v.elements)+piece-1)/piece)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for _, h := range masks {
		group.Go(func() error {
			m, err := newMask[W](h.seed, v.modulus)
			if err != nil {
				return err
			}
			buffer := make([]W, min(piece, len(v.elements)))
			for i := range locks {
				if err := ctx.Err(); err != nil {
					return err
				}
				part := v.elements[i*piece : min((i+1)*piece, len(v.elements))]
				numbers := buffer[:len(part)]
				m.read(numbers)
				locks[i].Lock()
				apply(part, numbers, h.add)
				locks[i].Unlock()
			}
			return nil
		})
	}
	return group.Wait()
}

func apply[W word](part, numbers []W, add bool) {
	numbers = numbers[:len(part)]
	if add {
		for i := range part {
			part[i] += numbers[i]
		}
		return
	}
	for i := range part {
		part[i] -= numbers[i]
	}
}

func (v *vector[W]) at(dst []uint64, from int) {
	for i, element := range v.elements[from : from+len(dst)] {
		dst[i] = uint64(element) & (v.modulus - 1)
	}
}

// readVector reads the arrays of a masked vector and checks that they are 64-bit
// integers: one for the weight, then those of the shapes.
func readVector(blobs [][]byte, shapes [][]int) ([]tensor.Tensor, error) {
	if len(blobs) != len(shapes)+1 {
		return nil, fmt.Errorf("value %q: %d arrays; the weight and the %d of the model are needed", nameMasked, len(blobs), len(shapes))
	}
	arrays := make([]tensor.Tensor, len(blobs))
	for i, data := range blobs {
		shape := []int{1}
		if i > 0 {
			shape = shapes[i-1]
		}
		array, err := tensor.Decode(data)
		if err == nil {
			err = fits(array, shape)
		}
		if err != nil {
			return nil, fmt.Errorf("value %q: array %d: %w", nameMasked, i, err)
		}
		arrays[i] = array
	}
	return arrays, nil
}

func fits(array tensor.Tensor, shape []int) error {
	if array.DType() != tensor.Int64 && array.DType() != tensor.Uint64 {
		return fmt.Errorf("has the type %v; 64-bit integers are needed", array.DType())
	}
	if !slices.Equal(array.Shape(), shape) {
		return fmt.Errorf("has the shape %v; the model's is %v", array.Shape(), shape)
	}
	for _, chunk := range array.Chunks() {
		if len(chunk)%8 != 0 {
			return errors.New("its elements are divided")
		}
	}
	return nil
}

// count returns the number of elements of all shapes.
func count(shapes [][]int) int {
	total := 0
	for _, shape := range shapes {
		size := 1
		for _, axis := range shape {
			size *= axis
		}
		total += size
	}
	return total
}
