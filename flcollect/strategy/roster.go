package strategy

import "sync"

// roster knows whose updates an aggregation has, and whether it still takes
// any. The zero value is open and empty.
type roster struct {
	mu      sync.Mutex
	clients map[string]bool
	closed  bool
}

// enter registers a client whose update passed [Check].
func (r *roster) enter(client string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	if r.clients[client] {
		return refuse(client, "the client has sent an update in this round")
	}
	if r.clients == nil {
		r.clients = map[string]bool{}
	}
	r.clients[client] = true
	return nil
}

// leave takes a client back whose update was refused.
func (r *roster) leave(client string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.clients, client)
}

// close ends the taking and returns how many updates there are; false if it had
// ended before.
func (r *roster) close() (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.closed
	r.closed = true
	return len(r.clients), first
}
