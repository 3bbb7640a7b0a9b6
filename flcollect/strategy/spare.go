package strategy

import (
	"sync"
	"time"
)

// spareTime is how long a [Spare] keeps memory.
const spareTime = 10 * time.Second

// Spare keeps the memory of a [Sum] for the sum of the next round, which then need not be
// allocated, nor be mapped by the operating system again. It keeps that of one sum, for ten
// seconds: a job that waits for clients keeps none. The zero value is ready for use, and
// nil keeps nothing. It is safe for concurrent use.
type Spare struct {
	mu     sync.Mutex
	memory []int64
	expiry *time.Timer // nil before memory was kept
}

// NewSum returns a sum of models of the form of the round's, as [NewSum] does. It uses the
// memory that [Round.Spare] keeps, if there is enough.
func (r Round) NewSum() *Sum {
	return newSum(r.Model, r.Spare)
}

// take returns memory for numbers of any value.
func (s *Spare) take(length int) []int64 {
	if kept := s.swap(nil); cap(kept) >= length {
		return kept[:length]
	}
	return make([]int64, length)
}

// swap replaces the memory that is kept, and returns it.
func (s *Spare) swap(memory []int64) []int64 {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.memory
	s.memory = memory
	if s.expiry != nil {
		s.expiry.Stop()
	}
	if memory != nil {
		s.expiry = time.AfterFunc(spareTime, func() { s.swap(nil) })
	}
	return last
}
