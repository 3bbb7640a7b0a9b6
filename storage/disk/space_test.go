//go:build unix

package disk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

// spaceFolder is the variable that has the test binary fill a folder.
const spaceFolder = "STORAGE_DISK_SPACE_FOLDER"

// setSpace lets no file become larger than that, until it is called again.
func setSpace(size uint64) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	limit.Cur = min(size, limit.Max)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
}

// writeUntilFull runs in the child. It writes until there is no space, and goes on when there is.
func writeUntilFull(dir string) error {
	ctx := context.Background()
	signal.Ignore(syscall.SIGXFSZ) // writing fails instead
	store, err := disk.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	docs, blobs := storage.Prefixed(store.Documents(), "of/"), storage.PrefixedBlobs(store.Blobs(), "of/")
	if err := errors.Join(storage.Space(ctx, docs), storage.Space(ctx, blobs), setSpace(128<<10)); err != nil {
		return err
	}
	written := 0
	for ; err == nil; written++ {
		_, err = docs.Create(ctx, fmt.Sprint(written), fmt.Appendf(nil, "%q", bytes.Repeat([]byte("x"), 4<<10)))
	}
	if !errors.Is(err, storage.ErrFull) {
		return fmt.Errorf("create document: expected ErrFull, got %w", err)
	}
	if err := storage.Space(ctx, docs); !errors.Is(err, storage.ErrFull) {
		return fmt.Errorf("space of documents: expected ErrFull, got %w", err)
	}
	blank := string(make([]byte, 1<<20))
	if _, err := writeBlob(ctx, blobs, "blob", blank); !errors.Is(err, storage.ErrFull) {
		return fmt.Errorf("write blob: expected ErrFull, got %w", err)
	}
	if err := storage.Space(ctx, blobs); !errors.Is(err, storage.ErrFull) {
		return fmt.Errorf("space of blobs: expected ErrFull, got %w", err)
	}
	page, err := docs.List(ctx, "", "", written+1)
	if err != nil || len(page) != written-1 {
		return fmt.Errorf("read %d documents of %d on a full disk: %w", len(page), written-1, err)
	}
	if err := setSpace(1 << 40); err != nil {
		return err
	}
	if _, err := docs.Create(ctx, "again", []byte("1")); err != nil {
		return err
	}
	if _, err := writeBlob(ctx, blobs, "blob", blank); err != nil {
		return err
	}
	for began := time.Now(); errors.Join(storage.Space(ctx, docs), storage.Space(ctx, blobs)) != nil; {
		if time.Since(began) > time.Minute {
			return errors.New("there is space, but the store does not notice")
		}
		runtime.Gosched()
	}
	return store.Close()
}

func TestStore_Space_isGoneUntilThereIsSomeAgain(t *testing.T) {
	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), spaceFolder+"="+dir)
	output, err := child.CombinedOutput()
	require.NoError(t, err, string(output))
	store := open(t, dir)
	_, err = store.Documents().Get(t.Context(), "of/again")
	require.NoError(t, err)
	_, err = store.Documents().Get(t.Context(), "of/0")
	require.NoError(t, err)
}
