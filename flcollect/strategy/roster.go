package strategy

import "sync"

// roster holds the clients whose updates an aggregation has, and whether it is
// open for more. The zero value is open and empty.
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

// leave removes a client whose update was refused.
func (r *roster) leave(client string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.clients, client)
}

// close closes the roster and returns the number of updates; false if it was
// closed before.
func (r *roster) close() (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.closed
	r.closed = true
	return len(r.clients), first
}
