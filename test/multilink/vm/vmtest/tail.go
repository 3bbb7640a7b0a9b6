//go:build linux

package vmtest

import "sync"

// tail keeps the end of what is written to it. It is safe for use by several
// goroutines.
type tail struct {
	limit int

	mu      sync.Mutex
	content []byte
	cut     bool
}

// Write never fails.
func (t *tail) Write(piece []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.content = append(t.content, piece...)
	if over := len(t.content) - t.limit; over > t.limit {
		t.content = append(t.content[:0], t.content[over:]...)
		t.cut = true
	}
	return len(piece), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut {
		return "(what came before is left out)\n" + string(t.content)
	}
	return string(t.content)
}
