package integrity

import (
	"context"
	"errors"
	"os"

	"github.com/iotenablers/enablers/storage"
)

// Reader reads content for a download. The Read that gets to the end of content that was read
// from its beginning fails if the content is damaged, see [storage.CheckedReader]. A part is
// not compared by Read: see [Reader.Part].
type Reader struct {
	*storage.CheckedReader
	ctx     context.Context // of Open: it is valid as long as the reader
	content Content
	checker *Checker
	file    os.FileInfo // the state of its file when it was opened, or nil
	opened  *os.File    // its file, or nil
	beside  *comparing  // of the whole content while a part is read, or nil
}

// Open opens content for a download. The error matches [storage.ErrDamaged] if bytes are
// missing. Content that is known to be damaged is compared first, because it may have been
// restored. The error matches [storage.ErrNotFound] if there is no such blob: the content may
// have been replaced meanwhile. The context also holds for reading.
func (c *Checker) Open(ctx context.Context, content Content) (*Reader, error) {
	if c.IsDamaged(ctx, content.Blob) {
		whole := c.join(ctx, content, true)
		err := whole.result(ctx)
		c.leave(content, whole)
		if err == nil {
			err = c.Clear(ctx, content.Blob)
		}
		if err != nil {
			return nil, err
		}
	}
	blob, err := c.blobs.Open(ctx, content.Blob)
	if err != nil {
		if errors.Is(err, storage.ErrDamaged) {
			c.Mark(ctx, content, err)
		}
		return nil, err
	}
	r := &Reader{ctx: ctx, content: content, checker: c, file: fileState(blob)}
	if r.file != nil {
		r.opened = blob.(interface{ File() *os.File }).File()
	}
	r.CheckedReader = storage.Checked(blob, content.SHA256, r.compared)
	return r, nil
}

// compared records the result of a comparison.
func (r *Reader) compared(err error) {
	if err != nil {
		r.checker.Mark(r.ctx, r.content, err)
		return
	}
	r.checker.remember(r.content.Blob, r.file)
}

// Read implements [io.Reader].
func (r *Reader) Read(p []byte) (int, error) {
	compared := r.Checking()
	n, err := r.CheckedReader.Read(p)
	if !compared && errors.Is(err, storage.ErrDamaged) {
		r.checker.Mark(r.ctx, r.content, err)
	}
	return n, err
}

// File returns the file of the content, so that the kernel can send it by itself, or nil if
// the bytes have to go through Read: there is no file, or the whole of it is wanted and was
// not compared lately. The position of the file is that of the next Read.
func (r *Reader) File(whole bool) *os.File {
	if whole && !r.checker.isGood(r.content.Blob, r.file) {
		return nil
	}
	return r.opened
}

// Close implements [io.Closer].
func (r *Reader) Close() error {
	if r.beside != nil {
		r.checker.leave(r.content, r.beside)
		r.beside = nil
	}
	return r.CheckedReader.Close()
}
