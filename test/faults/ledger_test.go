//go:build linux

package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// kind is a sort of record that a server stores. Records are numbered from 1; everything in
// one follows from its number.
type kind struct {
	name string
	// put writes a record. A nil error means that the server acknowledged it, errNot that it
	// did not, and any other error is a defect.
	put func(n int) error
	// check returns nil if the record is there and whole. It is nil for a kind with slots.
	check func(n int) error
	// slots is, for records that replace each other, the number of places: record n goes to
	// place n modulo slots. Read returns the number of the record in a place, which is whole.
	slots int
	read  func(slot int) (n int, err error)
	// most is how many records are written at most; 0 means any number.
	most int
}

// errEnough is for a kind of which there are as many records as there may be.
var errEnough = errors.New("there are enough")

// allowed reports whether a write may return the error while something is lacking.
func allowed(err error) bool {
	return err == nil || errors.Is(err, errNot) || errors.Is(err, errEnough)
}

// ledger has the writes that a server acknowledged. It is safe for concurrent use, with one
// writer for each kind.
type ledger struct {
	mu    sync.Mutex
	books map[string]*book
	total int // of acknowledged writes
}

// book is the part of one kind.
type book struct {
	last         int         // the last number that was tried
	acknowledged []int       // of a kind without slots
	slot         map[int]int // the acknowledged number in each slot
	pending      map[int][]int
}

func newLedger() *ledger { return &ledger{books: map[string]*book{}} }

// bookLocked returns the book of a kind.
func (l *ledger) bookLocked(name string) *book {
	if l.books[name] == nil {
		l.books[name] = &book{slot: map[int]int{}, pending: map[int][]int{}}
	}
	return l.books[name]
}

// write writes the next record of the kind and notes whether it was acknowledged. An error
// that is not errNot is a defect.
func (l *ledger) write(k kind) error {
	l.mu.Lock()
	b := l.bookLocked(k.name)
	if k.most > 0 && b.last >= k.most {
		l.mu.Unlock()
		return errEnough
	}
	b.last++
	n := b.last
	if k.slots > 0 {
		b.pending[n%k.slots] = append(b.pending[n%k.slots], n)
	}
	l.mu.Unlock()
	err := k.put(n)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s %d: %w", k.name, n, err)
	}
	l.total++
	if k.slots > 0 {
		b.slot[n%k.slots], b.pending[n%k.slots] = n, nil
	} else {
		b.acknowledged = append(b.acknowledged, n)
	}
	return nil
}

// verify checks what the ledger has: all of it, or the newest records of each kind and some
// of the others.
func (l *ledger) verify(kinds []kind, all bool) error {
	const newest, others = 12, 6
	var errs []error
	for _, k := range kinds {
		l.mu.Lock()
		b := l.bookLocked(k.name)
		numbers := slices.Clone(b.acknowledged)
		l.mu.Unlock()
		if !all && len(numbers) > newest+others {
			old := numbers[:len(numbers)-newest]
			numbers = numbers[len(numbers)-newest:]
			for range others {
				numbers = append(numbers, old[rand.IntN(len(old))])
			}
		}
		for _, n := range numbers {
			if err := k.check(n); err != nil {
				errs = append(errs, fmt.Errorf("%s %d was acknowledged: %w", k.name, n, err))
			}
		}
		for slot := range k.slots {
			if err := l.verifySlot(k, b, slot); err != nil {
				errs = append(errs, err)
			}
		}
	}
	if len(errs) > 5 {
		errs = append(errs[:5], fmt.Errorf("and %d more", len(errs)-5))
	}
	return errors.Join(errs...)
}

// verifySlot checks that a slot holds the acknowledged record or one that was tried later.
func (l *ledger) verifySlot(k kind, b *book, slot int) error {
	found, err := k.read(slot)
	l.mu.Lock()
	defer l.mu.Unlock()
	want, known := b.slot[slot]
	switch {
	case !known:
		return nil // a first write that was interrupted may have happened, or a part of it
	case err != nil:
		return fmt.Errorf("%s in place %d: %d was acknowledged: %w", k.name, slot, want, err)
	case found == want || slices.Contains(b.pending[slot], found):
		return nil
	}
	return fmt.Errorf("%s in place %d: %d is there, %d was acknowledged, and %v were tried later", k.name, slot, found, want, b.pending[slot])
}

// fill writes so many records of every kind, all of which have to be acknowledged.
func (l *ledger) fill(t *testing.T, kinds []kind, each int) {
	t.Helper()
	for range each {
		for _, k := range kinds {
			if err := l.write(k); !errors.Is(err, errEnough) {
				require.NoError(t, err)
			}
		}
	}
}

// load writes records of all kinds at the same time until done is closed, or until the
// server does not acknowledge so many of a kind in sequence. It returns a defect, if any.
func (l *ledger) load(kinds []kind, done <-chan struct{}, refusals int) error {
	errs := make([]error, len(kinds))
	var writers sync.WaitGroup
	for i, k := range kinds {
		writers.Go(func() {
			for refused := 0; refused < refusals; {
				select {
				case <-done:
					return
				default:
				}
				err := l.write(k)
				switch {
				case errors.Is(err, errEnough):
					return
				case errors.Is(err, errNot):
					refused++
				case err != nil:
					errs[i] = err
					return
				default:
					refused = 0
				}
			}
		})
	}
	writers.Wait()
	return errors.Join(errs...)
}
