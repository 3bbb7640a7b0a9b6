package modelrepo

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// sweep removes uploads in pieces that expired, pieces that belong to no upload
// that still needs them, and pages that belong to no version.
func (s *Store) sweep(ctx context.Context, done *Repaired) error {
	if err := s.expirePartials(ctx, done); err != nil {
		return err
	}
	if err := s.sweepBlobs(ctx, partPrefix, s.needsParts); err != nil {
		return err
	}
	return s.sweepBlobs(ctx, pagePrefix, s.needsPages)
}

func (s *Store) expirePartials(ctx context.Context, done *Repaired) error {
	for doc, err := range storage.All(ctx, s.docs, partialPrefix) {
		if err != nil {
			return err
		}
		p, err := decode[partial](doc)
		if err != nil {
			return err
		}
		if time.Now().Before(p.Expires) {
			continue
		}
		if err := s.docs.Delete(ctx, doc.Key, doc.Revision); err != nil {
			if moved(err) {
				continue
			}
			return err
		}
		if p.Result == nil {
			done.Uploads++
		}
	}
	return nil
}

// sweepBlobs deletes the blobs below a prefix whose owner does not need them.
// The owner is what stands before the last part of the key. It is read after
// one of its blobs was seen, so a blob that comes later is not its owner's end.
func (s *Store) sweepBlobs(ctx context.Context, prefix string, needed func(context.Context, string) (bool, error)) error {
	owner, keep := "", false
	for info, err := range s.blobs.List(ctx, prefix) {
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
		if err := s.blobs.Delete(ctx, info.Key); err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
	}
	return nil
}

// needsParts reports whether there is such an upload, not yet published. An
// identifier is never given again.
func (s *Store) needsParts(ctx context.Context, id string) (bool, error) {
	doc, err := s.docs.Get(ctx, partialPrefix+id)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	p, err := decode[partial](doc)
	return p.Result == nil, err
}
