package strategy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// defaultMemory is how many bytes are read at a time if Round.Memory is zero:
// 64 MiB.
const defaultMemory = 64 << 20

// Spill keeps whole updates in a file, for rules that need all of them at once.
// Add may be called by several goroutines at once, and concurrently with Close.
// Make one with [NewSpill].
type Spill struct {
	round  Round
	starts []int64 // of each tensor within an update
	size   int64   // of an update

	roster roster
	mu     sync.RWMutex // read-locked while the file is in use, so that Close waits
	file   *os.File     // nil once closed
	slots  int64        // places that are assigned
	kept   []kept
}

// kept is an update in the file.
type kept struct {
	client   string
	examples int64
	at       int64
}

// NewSpill returns an empty spill for the updates of a round. Its file is in
// Round.Dir; where the operating system allows it, the file has no name, so
// that it disappears even after a crash.
func NewSpill(round Round) (*Spill, error) {
	file, err := os.CreateTemp(round.Dir, "updates-*.spill")
	if err != nil {
		return nil, fmt.Errorf("spill updates of round %d: %w", round.Number, err)
	}
	os.Remove(file.Name()) // fails on Windows; Close tries again
	s := &Spill{round: round, file: file}
	for _, t := range round.Model {
		s.starts = append(s.starts, s.size)
		s.size += int64(t.Size())
	}
	return s, nil
}

// Add writes an update to the file. The error of a bad update matches
// [ErrQuarantined].
func (s *Spill) Add(ctx context.Context, update Update) error {
	if err := Check(update, s.round.Model); err != nil {
		return err
	}
	if err := finite(update); err != nil {
		return err
	}
	if err := s.roster.enter(update.Client); err != nil {
		return err
	}
	if err := s.write(ctx, update); err != nil {
		s.roster.leave(update.Client)
		return err
	}
	return nil
}

// write writes the update to a place of its own.
func (s *Spill) write(ctx context.Context, update Update) error {
	at, err := s.reserve()
	if err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.file == nil {
		return ErrClosed
	}
	out := io.NewOffsetWriter(s.file, at)
	for _, t := range update.Model {
		for _, chunk := range t.Chunks() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if _, err := out.Write(chunk); err != nil {
				return fmt.Errorf("spill update of %q: %w", update.Client, err)
			}
		}
	}
	s.registerLocked(kept{update.Client, update.Examples, at})
	return nil
}

func (s *Spill) reserve() (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return 0, ErrClosed
	}
	s.slots++
	return (s.slots - 1) * s.size, nil
}

// registerLocked needs the read lock; the roster's lock guards the list.
func (s *Spill) registerLocked(k kept) {
	s.roster.mu.Lock()
	defer s.roster.mu.Unlock()
	s.kept = append(s.kept, k)
}

// Seal ends the adding and returns the number of updates. From then on they are
// numbered from 0 in the order of their clients' names.
func (s *Spill) Seal() (int, error) {
	count, first := s.roster.close()
	if !first {
		return 0, ErrClosed
	}
	slices.SortFunc(s.kept, func(a, b kept) int { return strings.Compare(a.client, b.client) })
	return count, nil
}

// Examples returns the examples of an update, by its number.
func (s *Spill) Examples(update int) int64 { return s.kept[update].examples }

// Read puts elements of a tensor of an update, from an index on, into dst. The
// spill must be sealed.
func (s *Spill) Read(dst []float64, update, layer, from int) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.file == nil {
		return ErrClosed
	}
	form := s.round.Model[layer]
	width := form.DType().Size()
	raw := make([]byte, len(dst)*width)
	at := s.kept[update].at + s.starts[layer] + int64(from*width)
	if _, err := s.file.ReadAt(raw, at); err != nil {
		return fmt.Errorf("read update of %q: %w", s.kept[update].client, err)
	}
	t, err := tensor.New(form.DType(), []int{len(dst)}, raw)
	if err != nil {
		return err
	}
	t.ReadFloat64s(dst, 0)
	return nil
}

// load returns an update without its metrics. The spill must be sealed.
func (s *Spill) load(update int) (Update, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.file == nil {
		return Update{}, ErrClosed
	}
	k := s.kept[update]
	loaded := Update{Client: k.client, Examples: k.examples, Model: make(Model, len(s.round.Model))}
	for layer, form := range s.round.Model {
		raw := make([]byte, form.Size())
		if _, err := s.file.ReadAt(raw, k.at+s.starts[layer]); err != nil {
			return Update{}, fmt.Errorf("read update of %q: %w", k.client, err)
		}
		var err error
		if loaded.Model[layer], err = tensor.New(form.DType(), form.Shape(), raw); err != nil {
			return Update{}, err
		}
	}
	return loaded, nil
}

// Tiles reads the same elements of all the given updates, piece by piece through
// the whole model, and hands them to use: a row for each update, which use may
// change. No more memory than Round.Memory is used for rows, but a row has 64
// elements at least. The spill must be sealed.
func (s *Spill) Tiles(ctx context.Context, updates []int, use func(rows [][]float64, layer, from int) error) error {
	memory := s.round.Memory
	if memory <= 0 {
		memory = defaultMemory
	}
	lanes := int(min(max(memory/int64(8*max(len(updates), 1)), 64), 1<<16))
	rows := make([][]float64, len(updates))
	for i := range rows {
		rows[i] = make([]float64, lanes)
	}
	part := make([][]float64, len(updates))
	for layer, t := range s.round.Model {
		for from := 0; from < t.Len(); from += lanes {
			if err := ctx.Err(); err != nil {
				return err
			}
			for i, update := range updates {
				part[i] = rows[i][:min(lanes, t.Len()-from)]
				if err := s.Read(part[i], update, layer, from); err != nil {
					return err
				}
			}
			if err := use(part, layer, from); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close removes the file. It waits for reads and writes that are under way.
func (s *Spill) Close() error {
	s.roster.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if gone := os.Remove(s.file.Name()); !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	s.file = nil
	return err
}

// finite returns nil if all numbers of an update are finite and below 2^128,
// and otherwise an error that matches [ErrQuarantined].
func finite(update Update) error {
	var values [1024]float64
	for i, t := range update.Model {
		for from := 0; from < t.Len(); from += len(values) {
			part := values[:min(len(values), t.Len()-from)]
			t.ReadFloat64s(part, from)
			for k, v := range part {
				if !(math.Abs(v) < endOfTerms) {
					return refuse(update.Client, "tensor %d: element %d is %v", i, from+k, v)
				}
			}
		}
	}
	return nil
}
