package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// blobReader reads the object with the bytes of one blob. It requests them at
// the first Read, from the position on, and again when the connection is lost.
type blobReader struct {
	ctx      context.Context // of Open: it is valid as long as the reader
	store    *Store
	name     string
	info     storage.BlobInfo
	position int64
	body     io.ReadCloser // at position, or nil
	failures int           // since the last byte
	closed   bool
}

// Read implements [io.Reader].
func (r *blobReader) Read(p []byte) (int, error) {
	const verb = "read blob"
	for {
		if err := r.usable(); err != nil {
			return 0, failed(verb, r.info.Key, err)
		}
		switch {
		case len(p) == 0:
			return 0, nil
		case r.position >= r.info.Size:
			return 0, io.EOF
		}
		n, err := r.read(p)
		if n > 0 || err == nil {
			return n, nil
		}
		if err := r.again(err); err != nil {
			return 0, failed(verb, r.info.Key, r.store.explain(err, r.ctx))
		}
	}
}

// usable returns an error if nothing more can be read.
func (r *blobReader) usable() error {
	if r.closed || r.store.closed.Load() {
		r.drop()
		return storage.ErrClosed
	}
	return r.ctx.Err()
}

// read reads what there is. It returns bytes or an error.
func (r *blobReader) read(p []byte) (int, error) {
	if r.body == nil {
		body, rest, err := r.store.bucket.open(r.ctx, r.name, r.position)
		if err != nil {
			return 0, r.missing(err)
		}
		r.body = body
		if want := r.info.Size - r.position; rest != want {
			r.drop()
			return 0, fmt.Errorf("%w: from byte %d on there are %d bytes, not %d", errBytes, r.position, rest, want)
		}
	}
	n, err := r.body.Read(p[:min(int64(len(p)), r.info.Size-r.position)])
	r.position += int64(n)
	if n > 0 {
		r.failures = 0
	}
	if err != nil || r.position == r.info.Size {
		r.drop()
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // the position was before the end
	}
	return n, err
}

// missing returns the error of an object that cannot be opened. An object that is gone
// although the record still names it, or that ends before the position, is damage.
func (r *blobReader) missing(err error) error {
	switch {
	case errors.Is(err, storage.ErrNotFound):
		now, findErr := r.store.find(r.ctx, r.info.Key)
		if findErr == nil && bytesPart+now.Bytes == r.name {
			return fmt.Errorf("%w: the object with its bytes is gone: restore %q", errBytes, r.store.config.Prefix+r.name)
		}
	case code(err) == "InvalidRange":
		return fmt.Errorf("%w: it ends before byte %d of %d", errBytes, r.position, r.info.Size)
	}
	return err
}

// again returns nil, after a pause, if the request may be repeated.
func (r *blobReader) again(err error) error {
	r.failures++
	explained := r.store.explain(err, r.ctx)
	if !errors.Is(explained, storage.ErrUnavailable) || r.failures >= r.store.config.Attempts {
		return err
	}
	select {
	case <-r.ctx.Done():
		return r.ctx.Err()
	case <-time.After(min(time.Second, 10*time.Millisecond<<min(r.failures, 10))):
		return nil
	}
}

func (r *blobReader) drop() {
	if r.body != nil {
		_ = r.body.Close() // the needed bytes were read
		r.body = nil
	}
}

// Seek implements [io.Seeker].
func (r *blobReader) Seek(offset int64, whence int) (int64, error) {
	const verb = "seek blob"
	if r.closed || r.store.closed.Load() {
		return 0, failed(verb, r.info.Key, storage.ErrClosed)
	}
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += r.position
	case io.SeekEnd:
		offset += r.info.Size
	default:
		return 0, failed(verb, r.info.Key, fmt.Errorf("no such whence: %d", whence))
	}
	if offset < 0 {
		return 0, failed(verb, r.info.Key, errors.New("the position is before the start"))
	}
	if offset != r.position {
		r.drop()
		r.position = offset
	}
	return offset, nil
}

// Close implements [io.Closer].
func (r *blobReader) Close() error {
	r.closed = true
	r.drop()
	return nil
}

// Info implements [storage.BlobReader].
func (r *blobReader) Info() storage.BlobInfo { return r.info }
