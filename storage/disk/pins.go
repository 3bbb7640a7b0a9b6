package disk

import "sync"

// pins keeps the files of replaced and deleted blobs while a [Snapshot] refers to
// them. What a crash leaves of them the next [Open] removes.
type pins struct {
	mu   sync.Mutex
	open bool // a snapshot is open, or being created
	// refers reports whether the snapshot has the blob under the key in that file. It
	// is nil while the snapshot is being created, which then may have any.
	refers func(key string, id contentID) bool
	kept   []contentID
}

// begin keeps all files from now on. It reports whether no other snapshot is open.
func (p *pins) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open {
		return false
	}
	p.open = true
	return true
}

// made keeps only files that the snapshot refers to from now on.
func (p *pins) made(refers func(key string, id contentID) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refers = refers
}

// keep reports whether the file of a replaced or deleted blob has to stay.
func (p *pins) keep(key string, id contentID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.open || (p.refers != nil && !p.refers(key, id)) {
		return false
	}
	p.kept = append(p.kept, id)
	return true
}

// end keeps no files from now on. It returns those to remove.
func (p *pins) end() []contentID {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.kept
	p.open, p.refers, p.kept = false, nil, nil
	return kept
}
