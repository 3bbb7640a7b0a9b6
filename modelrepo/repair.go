package modelrepo

import (
	"context"
	"fmt"
	"slices"
	"time"

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
		for doc, err := range storage.All(ctx, s.docs, prefix) {
			if err == nil {
				err = s.repair(ctx, doc, &done)
			}
			if err != nil {
				return done, fmt.Errorf("repair: %w", err)
			}
		}
	}
	if err := s.sweep(ctx, &done); err != nil {
		return done, fmt.Errorf("repair: %w", err)
	}
	return done, nil
}

// repair looks at one node. One that has moved on meanwhile is left alone.
func (s *Store) repair(ctx context.Context, doc storage.Document, done *Repaired) error {
	n, err := decode[node](doc)
	if err != nil {
		return err
	}
	expired := func(t ticket) bool { return time.Since(t.Renewed) >= s.config.Grace }
	before := len(n.Uploads)
	n.Uploads = slices.DeleteFunc(n.Uploads, expired)
	given := before - len(n.Uploads)
	left := n.Mark != nil && s.stale(n.Mark)
	switch {
	case left && n.Mark.Kind == pending:
		err = s.docs.Delete(ctx, doc.Key, doc.Revision)
	case left || given > 0 && n.visible():
		n.Mark = nil
		_, err = s.docs.Update(ctx, doc.Key, doc.Revision, encode(n))
	default:
		return nil
	}
	if moved(err) {
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
