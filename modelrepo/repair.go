package modelrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/modelrepo/internal/cas"
	"github.com/iotenablers/enablers/modelrepo/internal/docpages"
	"github.com/iotenablers/enablers/modelrepo/internal/tus"
	"github.com/iotenablers/enablers/storage"
)

// Repaired counts what [Store.Repair] did.
type Repaired struct {
	// Operations are creations and deletions that had stopped half-way.
	Operations int
	// Uploads are uploads, at once or in pieces, that had not moved for the
	// grace period.
	Uploads int
}

// Repair takes away the traces of operations that crashed: nodes that were
// never completely created, marks of deletions that never happened, tickets of
// uploads that do not move any more. None of them can be seen through the
// other methods, and an operation that was only slow begins again, or is
// refused in the case of an upload. Uploads in pieces that expired go with
// their pieces. It reads every node once.
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

// repair looks at one node. One that has moved on meanwhile is left alone.
func (t *tree) repair(ctx context.Context, doc storage.Document, grace time.Duration, done *Repaired) error {
	n, err := decode[node](doc)
	if err != nil {
		return err
	}
	expired := func(u ticket) bool { return time.Since(u.Renewed) >= grace }
	before := len(n.Uploads)
	n.Uploads = slices.DeleteFunc(n.Uploads, expired)
	given := before - len(n.Uploads)
	left := n.Mark != nil && t.stale(n.Mark)
	switch {
	case left && n.Mark.Kind == pending:
		err = t.docs.Delete(ctx, doc.Key, doc.Revision)
	case left || given > 0 && n.visible():
		n.Mark = nil
		_, err = t.docs.Update(ctx, doc.Key, doc.Revision, encode(n))
	default:
		return nil
	}
	if cas.Moved(err) {
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

// sweepBlobs deletes the blobs below a prefix whose owner does not need them.
// The owner is what stands before the last part of the key. It is read after
// one of its blobs was seen, so a blob that comes later is not its owner's end.
func sweepBlobs(ctx context.Context, blobs storage.Blobs, prefix string, needed func(context.Context, string) (bool, error)) error {
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
