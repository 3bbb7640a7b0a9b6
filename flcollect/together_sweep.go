package flcollect

import (
	"context"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/internal/checkpoint"
	"github.com/iotenablers/enablers/storage"
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
func (g *together) sweepInTurn(ctx context.Context) {
	if !g.swept.IsZero() && time.Since(g.swept) < sweepInterval {
		return
	}
	g.swept = time.Now()
	if err := g.sweep(ctx); err != nil && ctx.Err() == nil {
		g.server.log.Warn("blobs that nothing names cannot be deleted yet", "error", err)
	}
}

// sweep deletes the checkpoints and public contexts that nothing has named for a day.
func (g *together) sweep(ctx context.Context) error {
	named, folders, complete := map[string]bool{}, map[string]bool{}, true
	for doc, err := range storage.All(ctx, g.server.config.Documents, jobPrefix) {
		if err != nil {
			return err
		}
		r, err := readRecord(doc.Key[len(jobPrefix):], doc.Data)
		if err != nil {
			complete = false // it may name a checkpoint
			break
		}
		for _, o := range append(r.Before, r.outcome) {
			if o.Checkpoint != nil {
				named[o.Checkpoint.Key] = true
			}
		}
		if !r.State.Ended() || !r.settled() {
			folders[checkpoint.Folder(r.Token)] = true
		}
	}
	return g.unnamed.Look(func(age func(key string) time.Duration) error {
		young := func(blob storage.BlobInfo) bool { return age(blob.Key) < sweepAge }
		if err := g.server.contexts.Sweep(ctx, young); err != nil || !complete {
			return err
		}
		return g.server.storage.DeleteBlobs(ctx, checkpoint.Prefix, func(blob storage.BlobInfo) bool {
			return named[blob.Key] || folders[blob.Key[:strings.LastIndex(blob.Key, "/")+1]] || young(blob)
		})
	})
}
