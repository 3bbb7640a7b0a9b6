package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/minio/minio-go/v7"

	"github.com/iotenablers/enablers/storage"
)

// bucket is the part of a bucket that belongs to a store. Names are without the
// store's prefix.
type bucket struct {
	core   *minio.Core
	name   string
	prefix string
}

// small returns an object of at most maxSmall bytes, or storage.ErrNotFound.
func (b *bucket) small(ctx context.Context, name string) ([]byte, error) {
	const attempts = 3 // of reading the answer; the library repeats the request
	for attempt := 1; ; attempt++ {
		body, _, err := b.open(ctx, name, 0)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(io.LimitReader(body, maxSmall+1))
		_ = body.Close() // everything was read
		switch {
		case err == nil && len(data) > maxSmall:
			return nil, fmt.Errorf("%w: it has more than %d bytes", errDamaged, maxSmall)
		case err == nil || attempt == attempts || ctx.Err() != nil:
			return data, err
		}
	}
}

// open returns the bytes of an object from offset on and how many there are,
// or storage.ErrNotFound. The context holds for reading them.
func (b *bucket) open(ctx context.Context, name string, offset int64) (io.ReadCloser, int64, error) {
	var opts minio.GetObjectOptions
	if offset > 0 {
		if err := opts.SetRange(offset, 0); err != nil {
			return nil, 0, err
		}
	}
	body, info, _, err := b.core.GetObject(ctx, b.name, b.prefix+name, opts)
	if code(err) == minio.NoSuchKey {
		err = storage.ErrNotFound
	}
	return body, info.Size, err
}

// put stores an object completely or not at all. The server checks the digest,
// which replaces the digests that the library would compute for each chunk.
func (b *bucket) put(ctx context.Context, name string, data []byte, digest []byte, contentType string) error {
	_, err := b.core.PutObject(ctx, b.name, b.prefix+name, bytes.NewReader(data), int64(len(data)), "",
		hex.EncodeToString(digest), minio.PutObjectOptions{ContentType: contentType, DisableContentSha256: true})
	return err
}

// putSmall stores a record or note.
func (b *bucket) putSmall(ctx context.Context, name string, data []byte) error {
	digest := sha256.Sum256(data)
	return b.put(ctx, name, data, digest[:], "application/json")
}

// remove removes an object. It is no error when there is none.
func (b *bucket) remove(ctx context.Context, name string) error {
	return b.core.RemoveObject(ctx, b.name, b.prefix+name, minio.RemoveObjectOptions{})
}

// list yields the objects whose names start with common and are greater than
// after, in ascending byte order. The names are without the store's prefix.
func (b *bucket) list(ctx context.Context, common, after string) iter.Seq2[minio.ObjectInfo, error] {
	return func(yield func(minio.ObjectInfo, error) bool) {
		owner := false
		opts := minio.ListObjectsOptions{Prefix: b.prefix + common, Recursive: true, FetchOwner: &owner}
		if after != "" {
			opts.StartAfter = b.prefix + after
		}
		for object := range b.core.ListObjectsIter(ctx, b.name, opts) {
			if object.Err != nil {
				yield(minio.ObjectInfo{}, object.Err)
				return
			}
			object.Key = object.Key[min(len(b.prefix), len(object.Key)):]
			if !yield(object, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil { // the library ends without an error
			yield(minio.ObjectInfo{}, err)
		}
	}
}

// begin begins a multipart upload.
func (b *bucket) begin(ctx context.Context, name string) (uploadID string, err error) {
	return b.core.NewMultipartUpload(ctx, b.name, b.prefix+name,
		minio.PutObjectOptions{ContentType: "application/octet-stream"})
}

// part uploads a part. The server checks its digest.
func (b *bucket) part(ctx context.Context, name, uploadID string, number int, data []byte) (minio.CompletePart, error) {
	digest := sha256.Sum256(data)
	part, err := b.core.PutObjectPart(ctx, b.name, b.prefix+name, uploadID, number, bytes.NewReader(data),
		int64(len(data)),
		minio.PutObjectPartOptions{Sha256Hex: hex.EncodeToString(digest[:]), DisableContentSha256: true})
	return minio.CompletePart{PartNumber: part.PartNumber, ETag: part.ETag}, err
}

// complete composes the object from the parts. The name is used only once, so an
// object of that size is proof when the answer to a first request was lost.
func (b *bucket) complete(ctx context.Context, name, uploadID string, parts []minio.CompletePart, size int64) error {
	_, err := b.core.CompleteMultipartUpload(ctx, b.name, b.prefix+name, uploadID, parts, minio.PutObjectOptions{})
	if code(err) == minio.NoSuchUpload {
		info, statErr := b.core.StatObject(ctx, b.name, b.prefix+name, minio.StatObjectOptions{})
		if statErr == nil && info.Size == size {
			return nil
		}
	}
	return err
}

// abort ends an upload and removes its parts. It is no error when there is no
// such upload.
func (b *bucket) abort(ctx context.Context, name, uploadID string) error {
	err := b.core.AbortMultipartUpload(ctx, b.name, b.prefix+name, uploadID)
	if code(err) == minio.NoSuchUpload {
		return nil
	}
	return err
}

// ping sends a request that needs the credentials and the bucket.
func (b *bucket) ping(ctx context.Context) error {
	for _, err := range b.list(ctx, recordsPart, "") {
		return err
	}
	return nil
}

// code returns the error code of an answer of the server, or an empty string.
func code(err error) string {
	var response minio.ErrorResponse
	if errors.As(err, &response) {
		return response.Code
	}
	return ""
}
