package disk

import "os"

// writeBackStep is how many bytes are written to a file between two calls to
// begin their way to the disk. A file that is smaller is written by its sync
// alone.
const writeBackStep = 8 << 20

// writeBack has the system write the bytes of a growing file to the disk while
// more of them come, so that the sync at the end finds little left to do and
// memory does not fill with what is not on the disk yet. A disk that cannot
// keep up holds the writer up.
//
// It promises nothing: only the sync makes the file durable, and tells of all
// that went wrong before it.
type writeBack struct {
	file  *os.File
	begin func(file *os.File, offset, length int64) error
	begun int64 // how many bytes are on their way
}

// grown is called with the size of the file.
func (w *writeBack) grown(size int64) {
	if size-w.begun < writeBackStep {
		return
	}
	_ = w.begin(w.file, w.begun, size-w.begun) // the sync says it again, or does it all
	w.begun = size
}
