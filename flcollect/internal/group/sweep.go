package group

import (
	"context"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/internal/checkpoint"
	"github.com/iotenablers/enablers/flcollect/internal/job"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/lease"
)

const (
	// sweepAge is for how long nothing must name a blob for it to be deleted while other
	// servers may be alive: they store a blob before the document that names it.
	sweepAge = 24 * time.Hour
	// sweepInterval is the time between two sweeps of a server.
	sweepInterval = sweepAge / 4
)

// sweepInTurn deletes blobs that nothing names, if it is time. What fails is left to the next
// sweep.
func (g *Group) sweepInTurn(ctx context.Context) {
	if !g.swept.IsZero() && time.Since(g.swept) < sweepInterval {
		return
	}
	g.swept = time.Now()
	if err := g.sweep(ctx); err != nil && ctx.Err() == nil {
		g.config.Log.Warn("blobs that nothing names cannot be deleted yet", "error", err)
	}
}

// sweep deletes the checkpoints and public contexts that nothing has named for a day.
func (g *Group) sweep(ctx context.Context) error {
	named, folders, complete := map[string]bool{}, map[string]bool{}, true
	for doc, err := range storage.All(ctx, g.config.Storage.Documents, job.Prefix) {
		if err != nil {
			return err
		}
		r, err := job.ReadRecord(doc.Key[len(job.Prefix):], doc.Data)
		if err != nil {
			complete = false // it may name a checkpoint
			break
		}
		for _, key := range r.Checkpoints() {
			named[key] = true
		}
		if r.Active() {
			folders[checkpoint.Folder(r.Token)] = true
		}
	}
	return g.unnamed.Look(func(unchanged lease.Unchanged) error {
		young := func(blob storage.BlobInfo) bool { return unchanged(blob.Key, 0) < sweepAge }
		if err := g.config.Contexts.Sweep(ctx, young); err != nil || !complete {
			return err
		}
		return g.config.Storage.DeleteBlobs(ctx, checkpoint.Prefix, func(blob storage.BlobInfo) bool {
			return named[blob.Key] || folders[blob.Key[:strings.LastIndex(blob.Key, "/")+1]] || young(blob)
		})
	})
}
