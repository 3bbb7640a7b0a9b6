package modelrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/iotenablers/enablers/storage"
)

// Stats are the counts of this process since [New]. The tags metric and help describe
// them for Prometheus.
type Stats struct {
	Uploads       uint64 `metric:"uploads_total" help:"Uploads that were stored."`
	UploadedBytes uint64 `metric:"uploaded_bytes_total" help:"Bytes of the uploads that were stored."`

	Delivered uint64 `metric:"events_delivered_total" help:"Events that callbacks of webhooks took."`
	GivenUp   uint64 `metric:"events_given_up_total" help:"Events that were dropped because no callback took them."`

	CollectedBlobs uint64 `metric:"collected_blobs_total" help:"Blobs that were deleted because nothing referred to them."`
	// DamagedContents is the current number. Run reads what other processes found.
	DamagedContents  uint64 `metric:"damaged_contents" help:"Contents that are known to be damaged."`
	ReplacedContents uint64 `metric:"replaced_contents_total" help:"Damaged contents that got their bytes back from an upload."`
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
		CollectedBlobs:  stats.collectedBlobs.Load(),
		DamagedContents: uint64(s.contents.checker.Damaged()), ReplacedContents: s.contents.checker.Replaced(),
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
		if err := s.tree.countVisible(ctx, prefix, count); err != nil {
			return Inventory{}, fmt.Errorf("count the repository: %w", err)
		}
	}
	return made, nil
}

// countVisible adds the visible nodes with the prefix to the count.
func (t *tree) countVisible(ctx context.Context, prefix string, count *uint64) error {
	for doc, err := range storage.All(ctx, t.docs, prefix) {
		if err != nil {
			return err
		}
		if bytes.Contains(doc.Data, []byte(markMember)) {
			n, err := peekNode(doc)
			if err != nil {
				return err
			}
			if !n.visible() {
				continue
			}
		}
		*count++
	}
	return nil
}

// Usage is how much a namespace has, or the whole repository.
type Usage struct {
	Models, Versions uint64
	// Contents counts each format of each version, and Bytes has its whole size, also
	// where versions share the bytes. This is how [Limits] count.
	Contents uint64
	Bytes    int64
}

// Usage returns how much a namespace has, or the whole repository if the name is empty.
// It reads the document of every model and version there, as a list with a filter does:
// at most four such readings run at one time. The error matches [ErrNotFound].
func (s *Store) Usage(ctx context.Context, namespace string) (Usage, error) {
	const op = "read the usage"
	at, within := Path{Namespace: namespace}, ""
	if namespace != "" {
		switch _, err := s.tree.find(ctx, at, 1); {
		case errors.Is(err, errAbsent):
			return Usage{}, notFound(op, at)
		case err != nil:
			return Usage{}, failed(op, at, err)
		}
		within = namespace + "/"
	}
	select {
	case s.tree.scans <- struct{}{}:
		defer func() { <-s.tree.scans }()
	case <-ctx.Done():
		return Usage{}, ctx.Err()
	}
	var made Usage
	if err := s.tree.countVisible(ctx, modelPrefix+within, &made.Models); err != nil {
		return Usage{}, failed(op, at, err)
	}
	for doc, err := range storage.All(ctx, s.tree.docs, versionPrefix+within) {
		if err != nil {
			return Usage{}, failed(op, at, err)
		}
		n, err := peekNode(doc)
		if err != nil {
			return Usage{}, failed(op, at, err)
		}
		if n.visible() {
			made.Versions++
			made.Contents += uint64(len(n.Formats))
			made.Bytes += n.size()
		}
	}
	return made, nil
}

// Limits returns the quotas that the repository was created with.
func (s *Store) Limits() Limits { return s.config.Limits }
