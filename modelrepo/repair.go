package modelrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/modelrepo/internal/clock"
	"github.com/iotenablers/enablers/modelrepo/internal/docpages"
	"github.com/iotenablers/enablers/modelrepo/internal/tus"
	"github.com/iotenablers/enablers/storage"
)

// Repaired counts what [Store.Repair] did.
type Repaired struct {
	// Operations are creations and deletions that had stopped half-way.
	Operations int
	// Uploads are uploads that received nothing for the grace period.
	Uploads int
}

// Repair removes the traces of operations that crashed: nodes that were not completely
// created, marks of deletions that did not happen, tickets of uploads that receive
// nothing any more, resumable uploads that expired, and pieces and pages that nothing
// needs. No other method shows these traces. An operation that was only slow starts
// again; an upload is refused. It reads every node once.
func (s *Store) Repair(ctx context.Context) (Repaired, error) {
	var done Repaired
	for _, prefix := range []string{namespacePrefix, modelPrefix, versionPrefix} {
		for doc, err := range storage.All(ctx, s.tree.docs, prefix) {
			if err == nil {
				err = s.tree.repair(ctx, doc, s.config.Grace, &done)
			}
			if err != nil {
				return done, fmt.Errorf("repair: %w", err)
			}
		}
	}
	expired, err := s.uploads.stored.Expire(ctx)
	done.Uploads += expired
	if err == nil {
		err = sweepBlobs(ctx, s.contents.blobs, tus.PiecePrefix, s.uploads.stored.NeedsPieces)
	}
	if err == nil {
		err = sweepBlobs(ctx, s.contents.blobs, docpages.PagePrefix, s.tree.needsPages)
	}
	if err != nil {
		return done, fmt.Errorf("repair: %w", err)
	}
	return done, nil
}

// repair repairs one node, unless it has changed meanwhile.
func (t *tree) repair(ctx context.Context, doc storage.Document, grace time.Duration, done *Repaired) error {
	n, err := decodeNode(doc)
	if err != nil {
		return err
	}
	expired := func(u ticket) bool { return clock.Passed(u.Renewed, grace) }
	before := len(n.Uploads)
	n.Uploads = slices.DeleteFunc(n.Uploads, expired)
	given := before - len(n.Uploads)
	left := n.Mark != nil && clock.Passed(n.Mark.Since, t.settle) // where clocks differ the operation starts again
	switch {
	case left && n.Mark.Kind == pending:
		err = t.docs.Delete(ctx, doc.Key, doc.Revision)
	case left || (given > 0 && n.visible()):
		n.Mark = nil
		_, err = t.docs.Update(ctx, doc.Key, doc.Revision, n.encode())
	default:
		return nil
	}
	if storage.Overtaken(err) {
		return nil
	}
	if err == nil {
		done.Uploads += given
		if left {
			done.Operations++
		}
	}
	return err
}

// sweepBlobs deletes the blobs below a prefix that their owner does not need. The owner
// is the part of the key before the last slash. It is read after one of its blobs was
// listed; blobs that are created later stay.
func sweepBlobs(
	ctx context.Context, blobs storage.Blobs, prefix string, needed func(context.Context, string) (bool, error),
) error {
	owner, keep := "", false
	for info, err := range blobs.List(ctx, prefix) {
		if err != nil {
			return err
		}
		its := info.Key[len(prefix):]
		its = its[:max(0, strings.LastIndexByte(its, '/'))]
		if its != owner {
			if keep, err = needed(ctx, its); err != nil {
				return err
			}
			owner = its
		}
		if keep {
			continue
		}
		if err := blobs.Delete(ctx, info.Key); err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
	}
	return nil
}
