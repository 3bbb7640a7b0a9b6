package modelrepo

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/iotenablers/enablers/storage"
)

// Stats are counts since the store was made, of this process alone.
type Stats struct {
	// Uploads were stored, with UploadedBytes of content.
	Uploads, UploadedBytes uint64
	// Delivered events were taken by callbacks; GivenUp events were not.
	Delivered, GivenUp uint64
	// CollectedBlobs were deleted by Collect.
	CollectedBlobs uint64
}

// counters count what Stats reports.
type counters struct {
	uploads, uploadedBytes atomic.Uint64
	collectedBlobs         atomic.Uint64
}

// Stats returns the counts.
func (s *Store) Stats() Stats {
	stats := s.contents.stats
	return Stats{
		Uploads: stats.uploads.Load(), UploadedBytes: stats.uploadedBytes.Load(),
		Delivered: s.hooks.Delivered(), GivenUp: s.hooks.GivenUp(),
		CollectedBlobs: stats.collectedBlobs.Load(),
	}
}

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
