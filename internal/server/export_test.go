package server

// Waiting returns how many connections wait for a next request.
func (b *Connections) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.silent[waiting].Len()
}
