package apimgmt

import (
	"context"
	"fmt"
)

// Inventory is how much there is in the library.
type Inventory struct {
	// Enablers is how many records there are, Versions how many versions by their
	// states.
	Enablers int
	Versions map[State]int
}

// Inventory counts the library. It reads one document unless the library has changed.
func (p *Publisher) Inventory(ctx context.Context) (Inventory, error) {
	at, err := p.snapshot(ctx)
	if err != nil {
		return Inventory{}, fmt.Errorf("count the library: %w", err)
	}
	made := Inventory{Enablers: len(at.records), Versions: map[State]int{}}
	for _, r := range at.records {
		for i := range r.Versions {
			made.Versions[r.Versions[i].State]++
		}
	}
	return made, nil
}
