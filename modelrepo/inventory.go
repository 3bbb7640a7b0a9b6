package modelrepo

import (
	"bytes"
	"context"
	"fmt"

	"github.com/iotenablers/enablers/storage"
)

// Inventory is how much there is in the repository.
type Inventory struct {
	Namespaces, Models, Versions uint64
}

// Inventory counts what is there. It reads the document of every namespace, model and
// version, so callers that show the numbers often keep them for a while.
func (s *Store) Inventory(ctx context.Context) (Inventory, error) {
	var made Inventory
	for prefix, count := range map[string]*uint64{
		namespacePrefix: &made.Namespaces, modelPrefix: &made.Models, versionPrefix: &made.Versions,
	} {
		for doc, err := range storage.All(ctx, s.tree.docs, prefix) {
			if err != nil {
				return Inventory{}, fmt.Errorf("count the repository: %w", err)
			}
			if bytes.Contains(doc.Data, []byte(markMember)) {
				n, err := decode[node](doc)
				if err != nil {
					return Inventory{}, fmt.Errorf("count the repository: %w", err)
				}
				if !n.visible() {
					continue
				}
			}
			*count++
		}
	}
	return made, nil
}
