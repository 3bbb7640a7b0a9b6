//go:build unix

package disk_test

import (
	"context"
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
)

// openOnFullDisk runs in the child.
func openOnFullDisk(dir string) error {
	limit, err := strconv.ParseUint(os.Getenv(fullAt), 10, 64)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ) // writing fails instead
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
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
