package modelrepo

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/iotenablers/enablers/storage"
)

// Stats are counts of this process since [New].
type Stats struct {
	// Uploads is how many uploads were stored, with UploadedBytes of content.
	Uploads, UploadedBytes uint64
	// Delivered is how many events callbacks accepted, and GivenUp how many were
	// dropped.
	Delivered, GivenUp uint64
	// CollectedBlobs is how many blobs Collect deleted.
	CollectedBlobs uint64
}

// counters are the counts of [Stats] that are not counted elsewhere.
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

// Inventory is how much the repository has.
type Inventory struct {
	Namespaces, Models, Versions uint64
}

// Inventory counts what is visible. It reads the document of every namespace, model and
// version; keep the result for a while if it is shown often.
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
				n, err := peekNode(doc)
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
