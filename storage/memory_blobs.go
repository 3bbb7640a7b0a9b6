package storage

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"strings"
	"sync"
	"time"
)

// memoryPage is how many blobs a listing reads under one lock.
const memoryPage = 256

// MemoryBlobs is a [Blobs] in memory. It is created with [NewMemoryBlobs] and is
// safe for concurrent use. A replaced or deleted blob is freed with its last
// reader.
type MemoryBlobs struct {
	mu     sync.RWMutex
	sorted keyList
	blobs  map[string]*memoryBlob
}

// memoryBlob is a committed blob. It never changes.
type memoryBlob struct {
	info BlobInfo
	data []byte
}

// NewMemoryBlobs returns an empty store.
func NewMemoryBlobs() *MemoryBlobs {
	return &MemoryBlobs{blobs: make(map[string]*memoryBlob)}
}

// Create implements [Blobs].
func (m *MemoryBlobs) Create(ctx context.Context, key string) (BlobWriter, error) {
	if err := admit(ctx, key); err != nil {
		return nil, failed("create blob", key, err)
	}
	return &memoryBlobWriter{store: m, ctx: ctx, key: key}, nil
}

// Open implements [Blobs].
func (m *MemoryBlobs) Open(ctx context.Context, key string) (BlobReader, error) {
	blob, err := m.find(ctx, key)
	if err != nil {
		return nil, failed("open blob", key, err)
	}
	return &memoryBlobReader{ctx: ctx, blob: blob, bytes: bytes.NewReader(blob.data)}, nil
}

// Stat implements [Blobs].
func (m *MemoryBlobs) Stat(ctx context.Context, key string) (BlobInfo, error) {
	blob, err := m.find(ctx, key)
	if err != nil {
		return BlobInfo{}, failed("stat blob", key, err)
	}
	return blob.info, nil
}

// Delete implements [Blobs].
func (m *MemoryBlobs) Delete(ctx context.Context, key string) error {
	const verb = "delete blob"
	if err := admit(ctx, key); err != nil {
		return failed(verb, key, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, found := m.blobs[key]; !found {
		return failed(verb, key, ErrNotFound)
	}
	m.sorted.remove(key)
	delete(m.blobs, key)
	return nil
}

// List implements [Blobs].
func (m *MemoryBlobs) List(ctx context.Context, prefix string) iter.Seq2[BlobInfo, error] {
	return func(yield func(BlobInfo, error) bool) {
		const verb = "list blobs"
		after := ""
		for {
			if err := admitListing(ctx, prefix); err != nil {
				yield(BlobInfo{}, failed(verb, prefix, err))
				return
			}
			page := m.page(prefix, after)
			for _, info := range page {
				if !yield(info, nil) {
					return
				}
			}
			if len(page) < memoryPage {
				return
			}
			after = page[len(page)-1].Key
		}
	}
}

// page returns the next blobs of a listing, at most memoryPage, so that the
// lock is not held while the caller's loop runs.
func (m *MemoryBlobs) page(prefix, after string) []BlobInfo {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var page []BlobInfo
	for _, key := range m.sorted.from(prefix, after) {
		if len(page) == memoryPage || !strings.HasPrefix(key, prefix) {
			break
		}
		page = append(page, m.blobs[key].info)
	}
	return page
}

func (m *MemoryBlobs) find(ctx context.Context, key string) (*memoryBlob, error) {
	if err := admit(ctx, key); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if blob, found := m.blobs[key]; found {
		return blob, nil
	}
	return nil, ErrNotFound
}

// memoryBlobWriter collects the bytes of one blob.
type memoryBlobWriter struct {
	store    *MemoryBlobs
	ctx      context.Context // of Create: it is valid as long as the writer
	key      string
	data     []byte
	finished bool
}

// Write implements [BlobWriter].
func (w *memoryBlobWriter) Write(p []byte) (int, error) {
	const verb = "write blob"
	if w.finished {
		return 0, failed(verb, w.key, ErrClosed)
	}
	if err := w.ctx.Err(); err != nil {
		return 0, failed(verb, w.key, err)
	}
	w.data = append(w.data, p...)
	return len(p), nil
}

// Commit implements [BlobWriter].
func (w *memoryBlobWriter) Commit(ctx context.Context) (BlobInfo, error) {
	const verb = "commit blob"
	if w.finished {
		return BlobInfo{}, failed(verb, w.key, ErrClosed)
	}
	w.finished = true
	data := w.data
	w.data = nil
	for _, governing := range []context.Context{w.ctx, ctx} {
		if err := governing.Err(); err != nil {
			return BlobInfo{}, failed(verb, w.key, err)
		}
	}
	md5sum, sha256sum := md5.Sum(data), sha256.Sum256(data)
	blob := &memoryBlob{data: data, info: BlobInfo{
		Key:    w.key,
		Size:   int64(len(data)),
		MD5:    hex.EncodeToString(md5sum[:]),
		SHA256: hex.EncodeToString(sha256sum[:]),
	}}
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	blob.info.Modified = time.Now().UTC().Round(0)
	w.store.sorted.insert(w.key)
	w.store.blobs[w.key] = blob
	return blob.info, nil
}

// Abort implements [BlobWriter].
func (w *memoryBlobWriter) Abort() error {
	w.finished = true
	w.data = nil
	return nil
}

// memoryBlobReader reads one blob.
type memoryBlobReader struct {
	ctx    context.Context // of Open: it is valid as long as the reader
	blob   *memoryBlob
	bytes  *bytes.Reader
	closed bool
}

// Read implements [io.Reader].
func (r *memoryBlobReader) Read(p []byte) (int, error) {
	const verb = "read blob"
	if r.closed {
		return 0, failed(verb, r.blob.info.Key, ErrClosed)
	}
	if err := r.ctx.Err(); err != nil {
		return 0, failed(verb, r.blob.info.Key, err)
	}
	return r.bytes.Read(p)
}

// Seek implements [io.Seeker].
func (r *memoryBlobReader) Seek(offset int64, whence int) (int64, error) {
	const verb = "seek blob"
	if r.closed {
		return 0, failed(verb, r.blob.info.Key, ErrClosed)
	}
	position, err := r.bytes.Seek(offset, whence)
	if err != nil {
		return 0, failed(verb, r.blob.info.Key, err)
	}
	return position, nil
}

// Close implements [io.Closer].
func (r *memoryBlobReader) Close() error {
	r.closed = true
	return nil
}

// Info implements [BlobReader].
func (r *memoryBlobReader) Info() BlobInfo { return r.blob.info }
