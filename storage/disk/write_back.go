package disk

import "os"

// writeBackStep is how many bytes are written to a file between two calls of
// the system. A smaller file is written by its sync alone.
const writeBackStep = 8 << 20

// writeBack makes the system write the bytes of a growing file to the disk
// while more bytes arrive, so that the sync at the end is short and memory does
// not fill with unwritten data. The writer waits for a disk that cannot keep
// up.
//
// It guarantees nothing: only the sync makes the file durable, and the sync
// returns earlier errors, too.
type writeBack struct {
	file  *os.File
	begin func(file *os.File, offset, length int64) error
	begun int64 // bytes whose writing has begun
}

// grown is called with the size of the file.
func (w *writeBack) grown(size int64) {
	if size-w.begun < writeBackStep {
		return
	}
	_ = w.begin(w.file, w.begun, size-w.begun) // the sync returns the error again, or writes everything
	w.begun = size
}
