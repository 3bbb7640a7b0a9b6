package repository

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/iotenablers/enablers/internal/keep"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/lease"
)

// Run collects once at the beginning and then every [Config].Interval, until the
// context ends; then it returns nil. A collection that fails is logged and tried again.
// Of several processes over one storage one is enough, and all may.
func (s *Store) Run(ctx context.Context) error {
	ticker := time.NewTicker(s.config.Interval)
	defer ticker.Stop()
	for {
		removed, err := s.Collect(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			s.log.Error("collection failed", "error", err, "again", s.config.Interval)
		case removed > 0:
			s.log.Info("collected files that no record names", "files", removed)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Collect removes the files that it has found without a record that names them, and not written
// to, for [Config].Grace, as crashes leave them. That is counted from the first call that has
// found them, by the clock of this process. It returns their number.
func (s *Store) Collect(ctx context.Context) (int, error) {
	s.collecting.Lock()
	defer s.collecting.Unlock()
	removed := 0
	err := s.unnamed.Look(func(unchanged lease.Unchanged) error {
		for doc, err := range s.documents(ctx, filePrefix) {
			gone := false
			if err == nil {
				gone, err = s.collect(ctx, doc, unchanged)
			}
			if err != nil {
				return fmt.Errorf("collect files: %w", err)
			}
			if gone {
				removed++
			}
		}
		return nil
	})
	return removed, err
}

// collect removes a file if its record has not named it for long.
func (s *Store) collect(ctx context.Context, doc storage.Document, unchanged lease.Unchanged) (bool, error) {
	var info fileInfo
	var err error
	if info.unknown, err = keep.Unmarshal(doc.Data, &info); err != nil {
		return false, failed("read file document", doc.Key, err)
	}
	named, err := s.named(ctx, info)
	if err != nil || (named && !info.Condemned) {
		return false, err
	}
	if !info.Condemned && unchanged(doc.Key, doc.Revision) < s.config.Grace {
		return false, nil
	}
	if !named {
		// From here on a commit fails, unless it came before.
		if doc.Revision, err = s.condemn(ctx, doc, info, true); err != nil {
			return false, unlessMoved(err)
		}
		if named, err = s.named(ctx, info); err != nil {
			return false, err
		}
	}
	if named { // it did
		_, err = s.condemn(ctx, doc, info, false)
		return false, unlessMoved(err)
	}
	return true, s.removeFile(ctx, info.ID)
}

func (s *Store) condemn(ctx context.Context, doc storage.Document, info fileInfo, condemned bool) (storage.Revision, error) {
	info.Condemned = condemned
	data, err := info.unknown.Marshal(info)
	if err != nil {
		return 0, failed("condemn file", doc.Key, err)
	}
	return s.docs.Update(ctx, doc.Key, doc.Revision, data)
}

// unlessMoved returns nil for the error of a document that was changed concurrently.
func unlessMoved(err error) error {
	if storage.Overtaken(err) {
		return nil
	}
	return err
}

// named reports whether the record of a file names it.
func (s *Store) named(ctx context.Context, info fileInfo) (bool, error) {
	doc, err := s.docs.Get(ctx, info.Owner)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	var r record
	if err := json.Unmarshal(doc.Data, &r); err != nil {
		return false, failed("read record", info.Owner, err)
	}
	return r.text(info.Member) == info.ID, nil
}
