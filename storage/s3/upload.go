package s3

import (
	"context"
	"sync"

	"github.com/minio/minio-go/v7"
)

// upload is a multipart upload of one blob, several parts at a time. Its
// buffers are all the memory that the writer needs, and are used again.
type upload struct {
	store *Store
	ctx   context.Context // ends with the writer's, and when a part fails
	end   context.CancelCauseFunc
	id    string // of the object
	name  string // of the object
	token string // the server's identifier of the upload

	free    chan []byte // buffers that are empty again
	buffers int         // that were allocated
	work    sync.WaitGroup

	mu    sync.Mutex
	parts []minio.CompletePart // by number
}

// beginUpload notes and begins an upload.
func beginUpload(ctx context.Context, store *Store, key, id string) (*upload, error) {
	u := &upload{
		store: store,
		id:    id,
		name:  bytesPart + id,
		free:  make(chan []byte, store.config.Uploads+1),
	}
	token, err := store.bucket.begin(ctx, u.name)
	if err != nil {
		return nil, err
	}
	u.token = token
	n := note{Key: key, Bytes: []string{id}, Upload: token}
	data, err := n.encode()
	if err == nil {
		err = store.bucket.putSmall(ctx, uploadsPart+id, data)
	}
	if err != nil {
		_ = store.cleanup(ctx, func(ctx context.Context) error { return store.bucket.abort(ctx, u.name, token) })
		return nil, err
	}
	u.ctx, u.end = context.WithCancelCause(ctx)
	u.buffers = 1 // the one that the caller has filled
	return u, nil
}

// add uploads a full buffer, which it takes over.
func (u *upload) add(part []byte) error {
	if u.ctx.Err() != nil {
		return context.Cause(u.ctx)
	}
	u.mu.Lock()
	number := len(u.parts) + 1
	u.parts = append(u.parts, minio.CompletePart{PartNumber: number})
	u.mu.Unlock()
	u.work.Go(func() {
		done, err := u.store.bucket.part(u.ctx, u.name, u.token, number, part)
		if err != nil {
			u.end(err)
		}
		u.mu.Lock()
		u.parts[number-1].ETag = done.ETag
		u.mu.Unlock()
		u.free <- part[:0] // never blocks: there is room for all buffers
	})
	return nil
}

// buffer returns an empty buffer, when there is one.
func (u *upload) buffer() ([]byte, error) {
	if u.buffers < cap(u.free) {
		select {
		case buffer := <-u.free:
			return buffer, nil
		default:
			u.buffers++
			return make([]byte, 0, u.store.config.PartSize), nil
		}
	}
	select {
	case buffer := <-u.free:
		return buffer, nil
	case <-u.ctx.Done():
		return nil, context.Cause(u.ctx)
	}
}

// wait waits until every part is uploaded. When the context ends, so does the
// upload.
func (u *upload) wait(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { u.end(ctx.Err()) })
	u.work.Wait()
	stop()
	return context.Cause(u.ctx)
}

// complete creates the object. All parts must be uploaded.
func (u *upload) complete(ctx context.Context, size int64) error {
	return u.store.bucket.complete(ctx, u.name, u.token, u.parts, size)
}

// forget removes the note of a completed upload. After a failure the sweep
// removes the rest.
func (u *upload) forget(ctx context.Context) {
	u.end(nil)
	_ = u.store.bucket.remove(ctx, uploadsPart+u.id)
}

// discard ends the upload and removes its parts and its note.
func (u *upload) discard(ctx context.Context) error {
	u.end(context.Canceled)
	u.work.Wait() // a part that arrives after the abort would stay
	return u.store.cleanup(ctx, func(ctx context.Context) error {
		if err := u.store.bucket.abort(ctx, u.name, u.token); err != nil {
			return err
		}
		return u.store.bucket.remove(ctx, uploadsPart+u.id)
	})
}
