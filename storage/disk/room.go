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
	// trialSize is how many bytes are written to find out whether there is room again.
	trialSize = 256 << 10
	// trialInterval is the shortest time between two trials.
	trialInterval = time.Second
)

// room remembers that a write of a store found no room.
type room struct {
	dir string

	mu    sync.Mutex
	full  bool // whether the last write that failed found no room, and none was found since
	tried time.Time
}

// explain returns an error of a write as one of package storage if the disk is full, and
// remembers it. Other errors are returned as they are.
func (r *room) explain(err error) error {
	if !isFull(err) {
		return err
	}
	if !errors.Is(err, storage.ErrFull) {
		err = fmt.Errorf("%w: %w", storage.ErrFull, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.full = true
	return err
}

// Room implements the optional method that [storage.Room] calls. After a write that found
// no room it writes 256 KiB to a file, at most once a second, until that succeeds.
func (s *Store) Room(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closed.Load() {
		return storage.ErrClosed
	}
	r := s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.full && now.Sub(r.tried) >= trialInterval {
		r.tried = now
		r.full = r.try() != nil
	}
	if r.full {
		return storage.ErrFull // without the path, which is for the log
	}
	return nil
}

// try writes a file and removes it.
func (r *room) try() error {
	file, err := os.CreateTemp(r.dir, unfinishedPrefix) // after a crash, Open removes it
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

// Room implements the optional method that [storage.Room] calls.
func (d *Documents) Room(ctx context.Context) error { return d.store.Room(ctx) }
