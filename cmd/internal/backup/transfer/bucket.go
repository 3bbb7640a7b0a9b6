package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/iotenablers/enablers/cmd/internal/backup"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/s3"
)

const (
	bucketScheme = "s3" + schemeEnd
	schemeEnd    = "://"
)

func isBucket(where string) bool { return strings.HasPrefix(where, bucketScheme) }

// checkNoURL returns an error for a URL that is not that of a bucket.
func checkNoURL(where, expected string) error {
	if strings.Contains(where, schemeEnd) {
		return fmt.Errorf("expected %s or %s", expected, s3.URLForm)
	}
	return nil
}

// bucket is a backup in S3: each file is a blob, and the manifest the last one.
type bucket struct {
	store   *s3.Store
	blobs   storage.Blobs
	written []string
}

// openBucket opens a bucket by its URL. No error shows the URL, for it may hold a secret.
func openBucket(ctx context.Context, where string) (*bucket, error) {
	config, err := s3.ParseURL(where)
	if err != nil {
		return nil, err
	}
	config.SweepInterval = -1 // nothing is replaced
	store, err := s3.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	return &bucket{store: store, blobs: store.Blobs()}, nil
}

// bucketName returns the URL without its credentials and parameters.
func bucketName(where string) string {
	config, err := s3.ParseURL(where)
	if err != nil {
		return bucketScheme + "…"
	}
	return bucketScheme + path.Join(config.Endpoint, config.Bucket, config.Prefix)
}

func (b *bucket) Close() error { return b.store.Close() }

// checkEmpty returns an error unless nothing is stored below the prefix.
func (b *bucket) checkEmpty(ctx context.Context) error {
	info, err := b.blobs.Stat(ctx, backup.ManifestName)
	if err == nil {
		return fmt.Errorf("there is a backup of %s already: give another prefix", info.Modified.Format(time.RFC3339))
	}
	if !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	for info, err := range b.blobs.List(ctx, "") {
		if err != nil {
			return err
		}
		return fmt.Errorf("there is %q already, but no %s: a backup that was killed, or that still runs, has left it; "+
			"give another prefix, or remove all objects of this one", info.Key, backup.ManifestName)
	}
	return nil
}

func (b *bucket) read(ctx context.Context, each func(name string, content io.Reader) error) (manifest, error) {
	open := func(name string, use func(content io.Reader) error) error { return b.open(ctx, name, use) }
	return readNamed(open, storage.ErrNotFound, each)
}

func (b *bucket) open(ctx context.Context, name string, read func(content io.Reader) error) (err error) {
	reader, err := b.blobs.Open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	return read(reader)
}

func (b *bucket) write(ctx context.Context, name string, content io.Reader) (err error) {
	writer, err := b.blobs.Create(ctx, name)
	if err != nil {
		return err
	}
	if _, err := io.Copy(writer, content); err != nil {
		return errors.Join(err, writer.Abort())
	}
	b.written = append(b.written, name)
	_, err = writer.Commit(ctx)
	return err
}

func (b *bucket) finish(ctx context.Context, manifest []byte) error {
	if err := b.write(ctx, backup.ManifestName, bytes.NewReader(manifest)); err != nil {
		return err
	}
	return b.store.Close()
}

// abort deletes what was written, the manifest first, and closes the store. The bytes of
// deleted blobs stay: the sweep of a store that uses the prefix removes them.
func (b *bucket) abort() (err error) {
	defer func() { err = errors.Join(err, b.store.Close()) }()
	const most = 2 * time.Minute
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	for i := len(b.written) - 1; i >= 0; i-- {
		if err := b.blobs.Delete(ctx, b.written[i]); err != nil && !errors.Is(err, storage.ErrNotFound) {
			return fmt.Errorf("remove the incomplete backup: %w; remove its objects, or give another prefix", err)
		}
	}
	return nil
}
