// Package checkpoint stores the model of a job, with what its strategy carries from
// round to round, as a blob that never changes.
package checkpoint

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/storage"
)

// A checkpoint is a line that names the form, the number of tensors of the model and of
// the strategy's state, and for each tensor the length of its .npy file and that file.
// Numbers have 8 bytes, the low one first.
const magic = "flcollect checkpoint 1\n"

// maxTensors bounds the tensors of a checkpoint, as a guard against other blobs.
const maxTensors = 1 << 20

// Prefix is that of the keys of all checkpoints.
const Prefix = "checkpoint/"

// Folder returns the prefix of the keys of a run's checkpoints.
func Folder(token string) string { return Prefix + token + "/" }

// Ref names a checkpoint.
type Ref struct {
	Key    string `json:"key"`
	SHA256 string `json:"sha256"`
}

// Save stores a model and the state of a strategy under a key that nothing else uses.
func Save(ctx context.Context, blobs storage.Blobs, token string, model strategy.Model, state []tensor.Tensor) (*Ref, error) {
	key := Folder(token) + uuid.NewString()
	w, err := blobs.Create(storage.OnlySHA256(ctx), key)
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	if err := write(w, model, state); err != nil {
		return nil, err
	}
	info, err := w.Commit(ctx)
	if err != nil {
		return nil, err
	}
	return &Ref{key, info.SHA256}, nil
}

func write(to io.Writer, model strategy.Model, state []tensor.Tensor) error {
	w := bufio.NewWriter(to)
	w.WriteString(magic) // errors stay with the writer
	number := func(n int) { w.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) }
	number(len(model))
	number(len(state))
	for _, list := range [][]tensor.Tensor{model, state} {
		for _, t := range list {
			file := tensor.Encode(t)
			size := 0
			for _, chunk := range file {
				size += len(chunk)
			}
			number(size)
			for _, chunk := range file {
				w.Write(chunk)
			}
		}
	}
	return w.Flush()
}

// Load returns the model and the state of a strategy. The error of a checkpoint that is
// gone or damaged matches [storage.ErrNotFound] or [persist.ErrDamaged].
func Load(ctx context.Context, blobs storage.Blobs, c *Ref) (strategy.Model, []tensor.Tensor, error) {
	blob, err := blobs.Open(ctx, c.Key)
	if err != nil {
		return nil, nil, err
	}
	defer blob.Close()
	r := reader{from: blob, left: blob.Info().Size, sum: sha256.New()}
	model, state, err := r.read()
	if err == nil && hex.EncodeToString(r.sum.Sum(nil)) != c.SHA256 {
		err = fmt.Errorf("%w: its digest is another", persist.ErrDamaged)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read %q: %w", c.Key, err)
	}
	return model, state, nil
}

// reader reads a checkpoint. It takes no more memory than the blob has bytes.
type reader struct {
	from io.Reader
	left int64
	sum  hash.Hash
}

func (r *reader) read() (model, state []tensor.Tensor, err error) {
	first, err := r.take(uint64(len(magic)))
	if err == nil && string(first) != magic {
		err = fmt.Errorf("%w: it does not begin as one", persist.ErrDamaged)
	}
	var counts [2]uint64
	for i := range counts {
		if err == nil {
			counts[i], err = r.number()
		}
	}
	if err == nil && max(counts[0], counts[1]) > maxTensors {
		err = fmt.Errorf("%w: %d and %d tensors", persist.ErrDamaged, counts[0], counts[1])
	}
	if err == nil {
		model, err = r.tensors(counts[0])
	}
	if err == nil {
		state, err = r.tensors(counts[1])
	}
	if err == nil && r.left > 0 {
		err = fmt.Errorf("%w: %d bytes are left over", persist.ErrDamaged, r.left)
	}
	return model, state, err
}

func (r *reader) tensors(count uint64) ([]tensor.Tensor, error) {
	var list []tensor.Tensor
	for i := range count {
		size, err := r.number()
		if err != nil {
			return nil, err
		}
		file, err := r.take(size)
		if err != nil {
			return nil, err
		}
		t, err := tensor.Decode(file)
		if err != nil {
			return nil, fmt.Errorf("%w: tensor %d: %w", persist.ErrDamaged, i, err)
		}
		list = append(list, t)
	}
	return list, nil
}

func (r *reader) number() (uint64, error) {
	data, err := r.take(8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(data), nil
}

func (r *reader) take(size uint64) ([]byte, error) {
	if size > uint64(r.left) || size > math.MaxInt {
		return nil, fmt.Errorf("%w: %d bytes are expected, there are %d", persist.ErrDamaged, size, r.left)
	}
	r.left -= int64(size)
	data := make([]byte, size)
	if _, err := io.ReadFull(r.from, data); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%w: %w", persist.ErrDamaged, err)
		}
		return nil, err
	}
	r.sum.Write(data)
	return data, nil
}
