package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/storage"
)

// sweepInterval is the time between two sweeps of a process.
const sweepInterval = time.Hour

// sweeper deletes the pieces of texts that were never made the configuration, as their writers
// crashed, or are it no longer. It is safe beside writers and sweepers of other processes.
//
// It asks no clock whether a text is old. A writer makes a text the configuration only while the head
// has the revision that it had before the first piece was written. So once a text was there, and the
// head has been replaced since, the text can only be the configuration if the head names it already.
type sweeper struct {
	record *record
	// seen are the texts that the last sweep has left, by the revision that the head had after they were found.
	seen map[string]storage.Revision
}

// run deletes what an earlier run has found and what is garbage since. While the configuration stays the
// same, it gives the head a new revision, so that the next run can delete what this one has left.
func (s *sweeper) run(ctx context.Context) error {
	h, revision, err := s.record.head(ctx)
	if err != nil {
		return err
	}
	left, unchanged := map[string]bool{}, false
	after := ""
	for {
		page, err := s.record.docs.List(ctx, textKeys, after, 8) // they may be long
		if err != nil {
			return fmt.Errorf("sweep stored configurations: %w", err)
		}
		for _, doc := range page {
			after = doc.Key
			text, _, _ := strings.Cut(strings.TrimPrefix(doc.Key, textKeys), "/")
			if id, err := uuid.Parse(text); err != nil || id.Version() != 7 || text == h.Text {
				continue
			}
			if at, known := s.seen[text]; !known || at == revision {
				left[text], unchanged = true, unchanged || known
				continue
			}
			if err := s.record.docs.Delete(ctx, doc.Key, doc.Revision); err != nil &&
				!errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrConflict) {
				return fmt.Errorf("sweep stored configurations: %w", err)
			}
		}
		if len(page) < 8 {
			break
		}
	}
	return s.leave(ctx, left, unchanged)
}

// leave remembers the texts that are left. With unchanged, the head has been the same since an earlier
// run has found one of them: it gets a new revision, with which writers that are still at work conflict.
func (s *sweeper) leave(ctx context.Context, left map[string]bool, unchanged bool) error {
	doc, err := s.record.docs.Get(ctx, headKey)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("sweep stored configurations: %w", err)
	}
	before := s.seen
	s.seen = make(map[string]storage.Revision, len(left))
	for text := range left {
		s.seen[text] = doc.Revision
		if at, known := before[text]; known {
			s.seen[text] = at
		}
	}
	if !unchanged || doc.Revision == 0 {
		return nil
	}
	if _, err := s.record.docs.Update(ctx, headKey, doc.Revision, doc.Data); err != nil && !errors.Is(err, storage.ErrConflict) {
		return fmt.Errorf("sweep stored configurations: %w", err)
	}
	return nil
}
