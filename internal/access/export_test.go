package access

import "github.com/iotenablers/enablers/internal/httpapi"

// Routes returns the door's own routes.
func Routes(d *Door) []httpapi.Route { return (&pages{door: d}).routes() }

// Addresses returns how many addresses are remembered.
func (d *Door) Addresses() int {
	d.attempts.mu.Lock()
	defer d.attempts.mu.Unlock()
	return len(d.attempts.known)
}
