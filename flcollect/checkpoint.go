package flcollect

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

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/storage"
)

// A checkpoint is a line that says so, the number of tensors of the model and of
// the strategy's state, and for each tensor the length of its .npy file and that
// file. Numbers have 8 bytes, the low one first.
const checkpointMagic = "flcollect checkpoint 1\n"

// maxTensors bounds the tensors of a checkpoint, as a guard against a blob that
// is none.
const maxTensors = 1 << 20

// errDamaged is matched by the error of a checkpoint that is not what was
// written.
var errDamaged = errors.New("flcollect: damaged checkpoint")

// saveCheckpoint stores a model and the state of a strategy under a key that
// nothing else uses.
func (s *Server) saveCheckpoint(ctx context.Context, token string, model strategy.Model, state []tensor.Tensor) (*checkpoint, error) {
	key := checkpointPrefix + token + "/" + uuid.NewString()
	w, err := s.options.Blobs.Create(ctx, key)
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	if err := writeCheckpoint(w, model, state); err != nil {
		return nil, err
	}
	info, err := w.Commit(ctx)
	if err != nil {
		return nil, err
	}
	return &checkpoint{key, info.SHA256}, nil
}

func writeCheckpoint(to io.Writer, model strategy.Model, state []tensor.Tensor) error {
	w := bufio.NewWriter(to)
	w.WriteString(checkpointMagic) // errors stay with the writer
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

// loadCheckpoint returns the model and the state of a strategy. The error of one
// that is gone or damaged matches [storage.ErrNotFound] or errDamaged.
func (s *Server) loadCheckpoint(ctx context.Context, c *checkpoint) (strategy.Model, []tensor.Tensor, error) {
	blob, err := s.options.Blobs.Open(ctx, c.Key)
	if err != nil {
		return nil, nil, err
	}
	defer blob.Close()
	r := checkpointReader{from: blob, left: blob.Info().Size, sum: sha256.New()}
	model, state, err := r.read()
	if err == nil && hex.EncodeToString(r.sum.Sum(nil)) != c.SHA256 {
		err = fmt.Errorf("%w: its digest is another", errDamaged)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read %q: %w", c.Key, err)
	}
	return model, state, nil
}

// checkpointReader reads a checkpoint and takes no more memory than it has bytes.
type checkpointReader struct {
	from io.Reader
	left int64
	sum  hash.Hash
}

func (r *checkpointReader) read() (model, state []tensor.Tensor, err error) {
	magic, err := r.take(uint64(len(checkpointMagic)))
	if err == nil && string(magic) != checkpointMagic {
		err = fmt.Errorf("%w: it does not begin as one", errDamaged)
	}
	var counts [2]uint64
	for i := range counts {
		if err == nil {
			counts[i], err = r.number()
		}
	}
	if err == nil && max(counts[0], counts[1]) > maxTensors {
		err = fmt.Errorf("%w: %d and %d tensors", errDamaged, counts[0], counts[1])
	}
	if err == nil {
		model, err = r.tensors(counts[0])
	}
	if err == nil {
		state, err = r.tensors(counts[1])
	}
	if err == nil && r.left > 0 {
		err = fmt.Errorf("%w: %d bytes are left over", errDamaged, r.left)
	}
	return model, state, err
}

func (r *checkpointReader) tensors(count uint64) ([]tensor.Tensor, error) {
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
			return nil, fmt.Errorf("%w: tensor %d: %w", errDamaged, i, err)
		}
		list = append(list, t)
	}
	return list, nil
}

func (r *checkpointReader) number() (uint64, error) {
	data, err := r.take(8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(data), nil
}

func (r *checkpointReader) take(size uint64) ([]byte, error) {
	if size > uint64(r.left) || size > math.MaxInt {
		return nil, fmt.Errorf("%w: %d bytes are expected, there are %d", errDamaged, size, r.left)
	}
	r.left -= int64(size)
	data := make([]byte, size)
	if _, err := io.ReadFull(r.from, data); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%w: %w", errDamaged, err)
		}
		return nil, err
	}
	r.sum.Write(data)
	return data, nil
}

// lost reports whether a checkpoint will never be there again.
func lost(err error) bool {
	return errors.Is(err, errDamaged) || errors.Is(err, storage.ErrNotFound)
}
