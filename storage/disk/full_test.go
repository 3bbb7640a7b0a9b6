//go:build unix

package disk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage/disk"
)

// fullFolder and fullAt are the variables that have the test binary open a
// folder where no file can be larger than that.
const (
	fullFolder = "STORAGE_DISK_FULL_FOLDER"
	fullAt     = "STORAGE_DISK_FULL_AT"
	// fullSnapshot has it open the folder first, and then take a snapshot.
	fullSnapshot = "STORAGE_DISK_FULL_SNAPSHOT"
)

// fillDisk makes the disk full.
func fillDisk() error {
	limit, err := strconv.ParseUint(os.Getenv(fullAt), 10, 64)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ) // writing fails instead
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit})
}

// snapshotOnFullDisk runs in the child.
func snapshotOnFullDisk(dir string) error {
	store, err := disk.Open(context.Background(), dir, nil)
	if err != nil {
		return err
	}
	if err := fillDisk(); err != nil {
		return err
	}
	if _, err := store.Documents().Get(context.Background(), "document"); err != nil {
		return fmt.Errorf("before the snapshot: %w", err)
	}
	_, err = store.Snapshot(context.Background())
	if errors.Is(err, syscall.EFBIG) {
		_, again := store.Snapshot(context.Background())
		if errors.Is(again, disk.ErrSnapshot) {
			return again
		}
	}
	return errors.Join(err, store.Close())
}

// openOnFullDisk runs in the child.
func openOnFullDisk(dir string) error {
	if err := fillDisk(); err != nil {
		return err
	}
	store, err := disk.Open(context.Background(), dir, &disk.Options{Owner: "test"})
	if err != nil {
		return err
	}
	return store.Close()
}

func TestOpen_worksAfterAFirstStartOnAFullDisk(t *testing.T) {
	page := os.Getpagesize()
	for _, limit := range []int{0, 10, page, 2 * page, 3 * page, 4*page - 1, 4 * page, 5 * page, 8*page - 1} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			dir := t.TempDir()
			for range 2 { // and a second one on the disk that is still full
				child := exec.CommandContext(t.Context(), os.Args[0])
				child.Env = append(os.Environ(), fullFolder+"="+dir, fullAt+"="+strconv.Itoa(limit))
				output, err := child.CombinedOutput()
				var failed *exec.ExitError
				require.ErrorAs(t, err, &failed)
				require.Equal(t, 1, failed.ExitCode(), string(output))
				require.Contains(t, string(output), syscall.EFBIG.Error())
			}
			litter, err := filepath.Glob(filepath.Join(dir, "*"))
			require.NoError(t, err)
			require.Empty(t, litter)
			store := open(t, dir)
			_, err = store.Documents().Create(t.Context(), "document", []byte(`1`))
			require.NoError(t, err)
		})
	}
}

func TestStore_Snapshot_leavesNothingOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	store := open(t, dir)
	_, err := store.Documents().Create(t.Context(), "document", []byte(`1`))
	require.NoError(t, err)
	require.NoError(t, store.Close())
	for _, limit := range []int{0, 1, os.Getpagesize(), 2 * os.Getpagesize()} {
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), fullFolder+"="+dir, fullAt+"="+strconv.Itoa(limit), fullSnapshot+"=1")
		output, err := child.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(output), "create snapshot")
		require.Contains(t, string(output), syscall.EFBIG.Error())
		require.Empty(t, litter(t, dir))
	}
}
