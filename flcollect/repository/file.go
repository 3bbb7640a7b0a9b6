package repository

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/iotenablers/enablers/internal/keep"
	"github.com/iotenablers/enablers/storage"
)

// filePrefix begins the keys of files, of their documents and of their blobs.
const filePrefix = "file/"

// The parts of a file. Only weights have the second.
const (
	partFile = "file"
	partNPZ  = "npz"
)

// fileInfo is the document about a file.
type fileInfo struct {
	ID string `json:"id"`
	// Name is the name of the file in the original.
	Name     string `json:"filename"`
	Length   int64  `json:"length"`
	Training string `json:"training_id,omitempty"`
	// Owner is the key of the record that is to name the file, Member where.
	Owner  string `json:"owner"`
	Member string `json:"member"`
	// Begun and Touched are the times of the begin and of the last write of the upload.
	Begun   time.Time `json:"begun"`
	Touched time.Time `json:"touched"`
	// Complete says that all bytes are there, Condemned that Collect is about to
	// remove the file.
	Complete  bool `json:"complete"`
	Condemned bool `json:"condemned,omitempty"`

	unknown keep.Members
}

// newFileID returns a new identifier that is greater than earlier ones: 24 hexadecimal
// digits, as in the original.
func newFileID(now time.Time) string {
	var tail [4]byte
	_, _ = rand.Read(tail[:]) // it never fails
	return fmt.Sprintf("%016x", now.UnixNano()) + hex.EncodeToString(tail[:])
}

func blobKey(id, part string) string { return filePrefix + id + "/" + part }

// upload is a file that is being written. It is not visible before a record names it.
type upload struct {
	store      *Store
	collection collection
	names      []string
	info       fileInfo
	revision   storage.Revision // of the document about it
	named      bool             // perhaps: commit got that far
}

// begin begins the upload of a file for a record that is there. The document
// about it comes first, so that whatever a crash leaves can be found by it.
func (s *Store) begin(ctx context.Context, c collection, fileName, training string, names ...string) (*upload, error) {
	if _, _, err := s.get(ctx, c, names...); err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	u := &upload{store: s, collection: c, names: names, info: fileInfo{
		ID: newFileID(now), Name: fileName, Training: training,
		Owner: c.key(names...), Member: c.file, Begun: now, Touched: now,
	}}
	data, err := json.Marshal(u.info)
	if err != nil {
		return nil, failed("begin upload", u.key(), err)
	}
	u.revision, err = s.docs.Create(ctx, u.key(), data)
	return u, err
}

func (u *upload) key() string { return filePrefix + u.info.ID }

// write writes a part of the file.
func (u *upload) write(ctx context.Context, part string, from io.Reader) error {
	key := blobKey(u.info.ID, part)
	blob, err := u.store.blobs.Create(ctx, key)
	if err != nil {
		return err
	}
	defer func() { _ = blob.Abort() }()
	limit := u.store.config.MaxFile
	n, err := io.CopyBuffer(blob, io.LimitReader(from, limit+1), make([]byte, uploadBuffer))
	switch {
	case err != nil:
		return failed("upload file", key, err)
	case n > limit:
		return failed("upload file", key, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit))
	}
	if part == partFile {
		u.info.Length = n
	}
	_, err = blob.Commit(ctx)
	return err
}

// uploadBuffer is how many bytes are written at a time.
const uploadBuffer = 256 << 10

// errCollected is the error of an upload that took so long that Collect removed it.
var errCollected = errors.New("repository: the upload took too long and was collected")

// commit has the record name the file, in place of the one that it named.
func (u *upload) commit(ctx context.Context) error {
	s, member := u.store, u.collection.file
	u.info.Complete, u.info.Touched = true, time.Now().UTC()
	data, err := json.Marshal(u.info)
	if err != nil {
		return failed("commit file", u.key(), err)
	}
	_, err = s.docs.Update(ctx, u.key(), u.revision, data)
	if storage.Overtaken(err) {
		return failed("commit file", u.key(), errCollected)
	} else if err != nil {
		return err
	}
	before := ""
	u.named = true
	err = s.change(ctx, u.collection, func(r *record) bool {
		before = r.text(member)
		r.set(member, u.info.ID)
		return true
	}, u.names...)
	if err != nil {
		u.named = !errors.Is(err, ErrNotFound) // with any other error it may be
		return err
	}
	if err := u.confirm(ctx); err != nil {
		return err
	}
	s.discard(ctx, before)
	return nil
}

// confirm makes sure that the file which the record names now is not about to be
// removed. Collect condemns a file, looks at the record again, and only then
// removes it: one of the two notices the other.
func (u *upload) confirm(ctx context.Context) error {
	condemned, err := u.store.condemned(ctx, u.key())
	if err != nil || !condemned {
		return err
	}
	lost := false
	err = u.store.change(ctx, u.collection, func(r *record) bool {
		if lost = r.text(u.collection.file) == u.info.ID; lost {
			r.set(u.collection.file, nil)
		}
		return lost
	}, u.names...)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil // it was named, and deleted since
	case err != nil:
		return err
	case lost:
		return failed("commit file", u.key(), errCollected)
	}
	return nil // it was named, and replaced since
}

func (s *Store) condemned(ctx context.Context, key string) (bool, error) {
	doc, err := s.docs.Get(ctx, key)
	if errors.Is(err, storage.ErrNotFound) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	var info fileInfo
	if err := json.Unmarshal(doc.Data, &info); err != nil {
		return false, failed("read file document", key, err)
	}
	return info.Condemned, nil
}

// abandon removes the file unless a record may name it. It is deferred.
func (u *upload) abandon(ctx context.Context) {
	if !u.named {
		u.store.discard(ctx, u.info.ID)
	}
}

// discard removes a file that no record names any more. What cannot be removed
// now is collected later, so that is no reason to fail.
func (s *Store) discard(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if err := s.removeFile(ctx, id); err != nil {
		s.log.Warn("a file is left to be collected", "file", id, "error", err)
	}
}

// removeFile removes a file that no record names any more.
func (s *Store) removeFile(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	for _, part := range []string{partFile, partNPZ} {
		if err := s.blobs.Delete(ctx, blobKey(id, part)); err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
	}
	// The document is last, so that what a crash leaves is found by it.
	if err := storage.Remove(ctx, s.docs, filePrefix+id, nil); err != nil && !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	return nil
}

// open opens a part of a record's file. The caller closes it.
func (s *Store) open(ctx context.Context, c collection, part string, names ...string) (storage.BlobReader, error) {
	last := ""
	for {
		r, _, err := s.get(ctx, c, names...)
		if err != nil {
			return nil, err
		}
		id := r.text(c.file)
		if id == "" || id == last {
			return nil, &refusal{"open file", c.key(names...) + " " + part, ErrNotFound, c.missing}
		}
		reader, err := s.blobs.Open(ctx, blobKey(id, part))
		if !errors.Is(err, storage.ErrNotFound) {
			return reader, err
		}
		last = id // perhaps it was replaced meanwhile: then the record names another
	}
}

// files yields the documents about files in the order of their uploads.
func (s *Store) files(ctx context.Context) func(func(fileInfo, error) bool) {
	return func(yield func(fileInfo, error) bool) {
		for doc, err := range s.documents(ctx, filePrefix) {
			var info fileInfo
			if err == nil {
				if err = json.Unmarshal(doc.Data, &info); err != nil {
					err = failed("read file document", doc.Key, err)
				}
			}
			if !yield(info, err) || err != nil {
				return
			}
		}
	}
}
