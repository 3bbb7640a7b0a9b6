package mongo

import (
	"context"
	"time"
)

// Ages of files, for tests.
const (
	UploadTime = uploadTime
	Grace      = grace
)

// SetClock replaces the clock of the store. It is called before the store is
// used.
func (s *Store) SetClock(now func() time.Time) { s.now = now }

// Sweep removes what is due.
func (s *Store) Sweep(ctx context.Context) error { return s.sweep(ctx) }

// Behind returns the first string behind all that start with prefix.
func Behind(prefix string) string { return behind(prefix) }
