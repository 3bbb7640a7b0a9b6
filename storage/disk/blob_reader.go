package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/iotenablers/enablers/storage"
)

// blobReader reads the file of one blob. The open file keeps the bytes when
// its name is removed.
type blobReader struct {
	ctx  context.Context // of Open: it is valid as long as the reader
	file *os.File
	info storage.BlobInfo
}

// Read implements [io.Reader].
func (r *blobReader) Read(p []byte) (int, error) {
	const verb = "read blob"
	if err := r.ctx.Err(); err != nil {
		return 0, failed(verb, r.info.Key, err)
	}
	n, err := r.file.Read(p[:min(len(p), ioChunk)])
	if err != nil && !errors.Is(err, io.EOF) {
		return n, failed(verb, r.info.Key, unreadable(closedFile(err)))
	}
	return n, err
}

// Seek implements [io.Seeker].
func (r *blobReader) Seek(offset int64, whence int) (int64, error) {
	position, err := r.file.Seek(offset, whence)
	if err != nil {
		return 0, failed("seek blob", r.info.Key, closedFile(err))
	}
	return position, nil
}

// Close implements [io.Closer].
func (r *blobReader) Close() error {
	if err := r.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return failed("close blob", r.info.Key, err)
	}
	return nil
}

// Info implements [storage.BlobReader].
func (r *blobReader) Info() storage.BlobInfo { return r.info }

// File returns the open file, so that the kernel can send it directly. Its
// position is that of the next Read. Close closes it; the context does not
// affect it.
func (r *blobReader) File() *os.File { return r.file }

// closedFile translates the error of a closed file.
func closedFile(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return storage.ErrClosed
	}
	return err
}

// unreadable translates the error of a disk that cannot read a sector.
func unreadable(err error) error {
	if errors.Is(err, syscall.EIO) {
		return fmt.Errorf("%w: %w", errBytes, err)
	}
	return err
}
