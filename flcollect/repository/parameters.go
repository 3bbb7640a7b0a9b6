package repository

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// defaultMaxModel is how large parameters may be in bytes if nothing is said.
const defaultMaxModel = 2 << 30

// readParameters reads the file of a model. It goes through a file in a folder,
// because archives are read from their end. A file that holds no parameters is
// flcollect.ErrNoModel, one beyond the limit flcollect.ErrRefused. The layers have names if
// the arrays of an archive have.
func readParameters(from io.Reader, dir string, limit int64) (strategy.Model, []string, error) {
	head := make([]byte, 6)
	n, err := io.ReadFull(from, head)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil, err
	}
	head = head[:n]
	zip, npy := bytes.HasPrefix(head, []byte("PK\x03\x04")), string(head) == "\x93NUMPY"
	if !zip && !npy {
		return nil, nil, fmt.Errorf("%w: the file is neither .npz nor .npy", flcollect.ErrNoModel)
	}
	from = io.LimitReader(io.MultiReader(bytes.NewReader(head), from), limit+1)
	if npy {
		data, err := io.ReadAll(from)
		if err != nil {
			return nil, nil, err
		}
		if int64(len(data)) > limit {
			return nil, nil, tooLargeModel(limit)
		}
		array, err := tensor.Decode(data)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", flcollect.ErrNoModel, err)
		}
		return strategy.Model{array}, nil, nil
	}
	file, err := os.CreateTemp(dir, "model-*")
	if err != nil {
		return nil, nil, fmt.Errorf("keep the model while it is read: %w", err)
	}
	defer func() {
		_ = file.Close() // it is read and gone
		_ = os.Remove(file.Name())
	}()
	size, err := io.Copy(file, from)
	if err != nil {
		return nil, nil, err
	}
	if size > limit {
		return nil, nil, tooLargeModel(limit)
	}
	return readArchive(file, size, limit)
}

func tooLargeModel(limit int64) error {
	return fmt.Errorf("%w: the model has more than %d bytes", flcollect.ErrRefused, limit)
}

// readArchive reads a .npz file: arr_0, arr_1 and so on in the order of their
// numbers, arrays of other names in that of the archive.
func readArchive(file io.ReaderAt, size, limit int64) (strategy.Model, []string, error) {
	arrays, err := tensor.ReadNPZ(file, size, limit)
	switch {
	case errors.Is(err, tensor.ErrLimit):
		return nil, nil, fmt.Errorf("%w: %w", flcollect.ErrRefused, err)
	case errors.Is(err, tensor.ErrArchive), errors.Is(err, tensor.ErrFormat):
		return nil, nil, fmt.Errorf("%w: %w", flcollect.ErrNoModel, err)
	case err != nil:
		return nil, nil, err
	case len(arrays) == 0:
		return nil, nil, fmt.Errorf("%w: the archive is empty", flcollect.ErrNoModel)
	}
	if !slices.ContainsFunc(arrays, func(a tensor.Named) bool { return arrayNumber(a) < 0 }) {
		slices.SortStableFunc(arrays, func(a, b tensor.Named) int { return cmp.Compare(arrayNumber(a), arrayNumber(b)) })
	}
	model := make(strategy.Model, len(arrays))
	for i, array := range arrays {
		model[i] = array.Tensor
	}
	return model, Layers(arrays), nil
}

// Layers returns the names of the arrays of a .npz file as names of layers; nil if all of
// them are arr_0, arr_1 and so on, which numpy.savez names arrays that have none.
func Layers(arrays []tensor.Named) []string {
	if !slices.ContainsFunc(arrays, func(a tensor.Named) bool { return arrayNumber(a) < 0 }) {
		return nil
	}
	names := make([]string, len(arrays))
	for i, array := range arrays {
		names[i] = array.Name
	}
	return names
}

// arrayNumber is the number of an array that numpy.savez named, or -1.
func arrayNumber(a tensor.Named) int {
	digits, found := strings.CutPrefix(a.Name, "arr_")
	n, err := strconv.ParseUint(digits, 10, 31)
	if !found || err != nil {
		return -1
	}
	return int(n)
}
