package tiers

import (
	"cmp"
	"slices"
	"sync"
)

// weight is that of the newest measurement in the mean of a client.
const weight = 0.3

// spare is how many clients that are not connected are remembered, beyond as many as
// those that are.
const spare = 1024

// Speeds holds how long the fits of clients take: an exponentially weighted mean in
// seconds, by the identity of the client. It is safe for concurrent use. Make one with
// [NewSpeeds].
type Speeds struct {
	count int

	mu    sync.Mutex
	means map[string]float64
}

// NewSpeeds returns no measurements, and so many tiers for those that come.
func NewSpeeds(count int) *Speeds { return &Speeds{count: count, means: map[string]float64{}} }

// Count returns the number of tiers for clients with a measurement.
func (s *Speeds) Count() int { return s.count }

// Observe notes how many seconds a fit took.
func (s *Speeds) Observe(identity string, seconds float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before, known := s.means[identity]; known {
		seconds = (1-weight)*before + weight*seconds
	}
	s.means[identity] = seconds
}

// Split returns the tiers of clients, as their indices: the fastest first, of equal size
// as far as possible, and last those without a measurement. Measurements of clients that
// are not among them may be forgotten.
func (s *Speeds) Split(identities []string) [][]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var known, unknown []int
	for i, identity := range identities {
		if _, ok := s.means[identity]; ok {
			known = append(known, i)
			continue
		}
		unknown = append(unknown, i)
	}
	slices.SortFunc(known, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.means[identities[a]], s.means[identities[b]]), cmp.Compare(identities[a], identities[b]))
	})
	split := make([][]int, 0, s.count+1)
	for k := range s.count {
		split = append(split, known[k*len(known)/s.count:(k+1)*len(known)/s.count])
	}
	if len(s.means) > 2*len(identities)+spare {
		kept := make(map[string]float64, len(known))
		for _, i := range known {
			kept[identities[i]] = s.means[identities[i]]
		}
		s.means = kept
	}
	return append(split, unknown)
}
