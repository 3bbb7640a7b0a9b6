package mongo

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/iotenablers/enablers/storage"
)

// sweepPause is the time between two sweeps.
const sweepPause = 10 * time.Minute

// sweepForever removes what is due until the context ends.
func (s *Store) sweepForever(ctx context.Context) {
	ticker := time.NewTicker(sweepPause)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("clean-up of blobs failed; it is tried again", "pause", sweepPause, "error", err)
		}
	}
}

// sweep removes files that are due and abandons uploads that took too long.
// Several stores may sweep at the same time: each step may happen twice.
func (s *Store) sweep(ctx context.Context) error {
	due := bson.E{Key: "due", Value: bson.D{{Key: "$lte", Value: s.now()}}}
	after := ""
	for {
		page, err := s.duePage(ctx, after, due)
		if err != nil {
			return failed("clean up blobs after", after, err)
		}
		for _, found := range page {
			if err := s.sweepKey(ctx, found); err != nil {
				return failed("clean up blob", found.Key, err)
			}
		}
		if len(page) < listPage {
			return nil
		}
		after = page[len(page)-1].Key
	}
}

func (s *Store) duePage(ctx context.Context, after string, due bson.E) ([]record[blobBody], error) {
	limited, cancel := s.limit(ctx)
	defer cancel()
	page, err := s.blobs.page(limited, "", after, listPage, due)
	return page, s.explain(ctx, err)
}

// sweepKey removes the files of one key that were released long enough ago, and
// only then removes them from the record. Uploads that took too long are
// released: from then on they cannot be committed.
func (s *Store) sweepKey(ctx context.Context, found record[blobBody]) error {
	limited, cancel := s.limit(ctx)
	defer cancel()
	now := s.now()
	var removed []bson.ObjectID
	for _, other := range found.Body.Others {
		if other.Upload || other.Until.After(now) {
			continue
		}
		if err := s.contents.remove(limited, other.ID); err != nil {
			return s.explain(ctx, err)
		}
		removed = append(removed, other.ID)
	}
	err := s.changeBlob(limited, found.Key, func(body *blobBody) error {
		body.drop(removed...)
		for _, other := range body.Others {
			if other.Upload && !other.Until.After(now) {
				body.giveUp(other.ID, now.Add(grace))
			}
		}
		return nil
	})
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return s.explain(ctx, err)
}
