package mongo

import (
	"context"
	"errors"
	"fmt"
	"io"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/iotenablers/enablers/storage"
)

// blobReader reads the file of one blob in calls of several chunks: one chunk
// at first, and twice as many with each further call, so that a short range is
// cheap and a long one takes few calls. The server keeps no state between two
// calls.
type blobReader struct {
	ctx    context.Context // of Open: it is valid as long as the reader
	store  *Store
	file   bson.ObjectID
	info   storage.BlobInfo
	closed bool

	position int64
	data     []byte // bytes of the file that start at from
	from     int64
	count    int // of chunks that were read last
}

// Read implements [io.Reader].
func (r *blobReader) Read(p []byte) (int, error) {
	const verb = "read blob"
	switch {
	case r.closed:
		return 0, failed(verb, r.info.Key, storage.ErrClosed)
	case r.ctx.Err() != nil:
		return 0, failed(verb, r.info.Key, r.ctx.Err())
	case len(p) == 0:
		return 0, nil
	case r.position >= r.info.Size:
		return 0, io.EOF
	}
	if r.position < r.from || r.position >= r.from+int64(len(r.data)) {
		if err := r.fetch(); err != nil {
			return 0, failed(verb, r.info.Key, err)
		}
	}
	n := copy(p, r.data[r.position-r.from:])
	r.position += int64(n)
	return n, nil
}

// fetch reads the chunks from the one at the position.
func (r *blobReader) fetch() error {
	if err := r.store.open(); err != nil {
		return err
	}
	if r.count > 0 && r.position == r.from+int64(len(r.data)) {
		r.count = min(2*r.count, chunksAtOnce)
	} else {
		r.count = 1
	}
	limited, cancel := r.store.limit(r.ctx)
	defer cancel()
	first := r.position / chunkSize
	data, err := r.store.contents.read(limited, r.file, int32(first), r.count)
	if err != nil {
		return r.store.explain(r.ctx, err)
	}
	from := first * chunkSize
	if want := min(int64(r.count)*chunkSize, r.info.Size-from); int64(len(data)) != want {
		return fmt.Errorf("%w: of its bytes %d to %d there are %d of %d", storage.ErrDamaged, from, from+want, len(data), want)
	}
	r.data, r.from = data, from
	return nil
}

// Seek implements [io.Seeker].
func (r *blobReader) Seek(offset int64, whence int) (int64, error) {
	const verb = "seek blob"
	if r.closed {
		return 0, failed(verb, r.info.Key, storage.ErrClosed)
	}
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += r.position
	case io.SeekEnd:
		offset += r.info.Size
	default:
		return 0, failed(verb, r.info.Key, fmt.Errorf("unknown whence %d", whence))
	}
	if offset < 0 {
		return 0, failed(verb, r.info.Key, errors.New("the position is before the start"))
	}
	r.position = offset
	return offset, nil
}

// Close implements [io.Closer].
func (r *blobReader) Close() error {
	r.closed, r.data = true, nil
	return nil
}

// Info implements [storage.BlobReader].
func (r *blobReader) Info() storage.BlobInfo { return r.info }
