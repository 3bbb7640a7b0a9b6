package persist

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Health holds the failures of the storage. It is safe for concurrent use.
type Health struct {
	mu      sync.Mutex
	failing map[string]error // by the ids of jobs
}

// NewHealth returns a health without failures.
func NewHealth() *Health { return &Health{failing: map[string]error{}} }

// Set records why the storage does not take the progress of a job, nil once it does, and
// reports whether that is the first failure in a row. The id is empty for what concerns
// all jobs.
func (h *Health) Set(id string, err error) (first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		delete(h.failing, id)
		return false
	}
	first = h.failing[id] == nil
	h.failing[id] = err
	return first
}

// Err returns a failure that lasts, nil if there is none.
func (h *Health) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.failing[""]; err != nil {
		return fmt.Errorf("read the stored jobs: %w", err)
	}
	if ids := slices.Sorted(maps.Keys(h.failing)); len(ids) > 0 {
		return fmt.Errorf("store job %q: %w", ids[0], h.failing[ids[0]])
	}
	return nil
}
