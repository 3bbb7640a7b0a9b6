//go:build linux && !arm

package disk

import (
	"errors"
	"os"
	"syscall"
)

// syncFileRangeWrite is SYNC_FILE_RANGE_WRITE: begin to write, and do not wait.
const syncFileRangeWrite = 2

// beginWriteBack begins to write a part of a file to the disk
// (sync_file_range(2)). fsync reports an error of the disk in any case, and a
// file system without the call writes everything in fsync.
func beginWriteBack(file *os.File, offset, length int64) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var begun error
	err = conn.Control(func(fd uintptr) {
		begun = syscall.SyncFileRange(int(fd), offset, length, syncFileRangeWrite)
	})
	return errors.Join(err, begun)
}
