package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/iotenablers/enablers/storage"
)

const (
	// trialSize is how many bytes are written to find out whether there is space again.
	trialSize = 256 << 10
	// trialInterval is the shortest time between two trials.
	trialInterval = time.Second
)

// space remembers that a write of a store found no space.
type space struct {
	dir string

	mu    sync.Mutex
	full  bool // whether the last write that failed found no space, and none was found since
	tried time.Time
}

// explain returns an error of a write as one of package storage if the disk is full, and
// remembers it. Other errors are returned as they are.
func (s *space) explain(err error) error {
	if !isFull(err) {
		return err
	}
	if !errors.Is(err, storage.ErrFull) {
		err = fmt.Errorf("%w: %w", storage.ErrFull, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = true
	return err
}

// Space implements the optional method that [storage.Space] calls. After a write that found
// no space it writes 256 KiB to a file, at most once a second, until that succeeds.
func (s *Store) Space(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closed.Load() {
		return storage.ErrClosed
	}
	sp := s.space
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if now := time.Now(); sp.full && now.Sub(sp.tried) >= trialInterval {
		sp.tried = now
		sp.full = sp.try() != nil
	}
	if sp.full {
		return storage.ErrFull // without the path, which is for the log
	}
	return nil
}

// try writes a file and removes it.
func (s *space) try() error {
	file, err := os.CreateTemp(s.dir, unfinishedPrefix) // after a crash, Open removes it
	if err != nil {
		return err
	}
	_, err = file.Write(make([]byte, trialSize))
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close(), os.Remove(file.Name()))
}

// isFull reports whether a write failed because of the size of the disk, or of a quota or
// limit. The database passes on the text of some errors only.
func isFull(err error) bool {
	if err == nil {
		return false
	}
	for _, number := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, number) || strings.HasPrefix(err.Error(), resizePrefix) && strings.HasSuffix(err.Error(), number.Error()) {
			return true
		}
	}
	return false
}

// resizePrefix begins the error of a database whose file cannot grow.
const resizePrefix = "file resize error: "

// Space implements the optional method that [storage.Space] calls.
func (d *Documents) Space(ctx context.Context) error { return d.store.Space(ctx) }

// Space implements the optional method that [storage.Space] calls.
func (b *Blobs) Space(ctx context.Context) error { return b.store.Space(ctx) }
