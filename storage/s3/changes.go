package s3

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/iotenablers/enablers/storage"
)

// The times that protect objects that are, or may still be, in use. A change
// takes place between its note and changeLimit after it, so a record names what
// it replaced at most two limits after the note of that. Readers of what was
// replaced have an hour from then.
const (
	changeLimit = 20 * time.Minute
	grace       = 2 * time.Hour
)

// sweeps is how many notes are processed in parallel.
const sweeps = 8

// Swept counts what a sweep removed.
type Swept struct {
	// Blobs is the number of objects with the bytes of blobs that were replaced,
	// deleted or not committed. One that two changes named counts twice.
	Blobs int
	// Uploads is the number of multipart uploads that were abandoned.
	Uploads int
}

// announce writes the note of a change before it begins.
func (s *Store) announce(ctx context.Context, id string, n note) error {
	data, err := n.encode()
	if err != nil {
		return err
	}
	return s.bucket.putSmall(ctx, changesPart+id, data)
}

// Sweep removes objects that are not needed any more: the bytes of blobs that
// were replaced or deleted two hours ago, and what was written for blobs that
// were not committed, after two hours or, for a multipart upload, at the age of
// [Config].UploadAge. Several processes may sweep at one time. A store sweeps
// by itself; see [Config].SweepInterval.
//
// It reads only the notes since the last sweep, not every blob. It continues
// after an error and returns all errors, joined.
func (s *Store) Sweep(ctx context.Context) (Swept, error) {
	var swept Swept
	err := errors.Join(
		s.sweepPart(ctx, changesPart, grace, &swept, s.sweepChange),
		s.sweepPart(ctx, uploadsPart, s.config.UploadAge, &swept, s.sweepUpload),
	)
	if err != nil {
		return swept, fmt.Errorf("sweep %s: %w", s.config, s.explain(err, ctx))
	}
	return swept, nil
}

// sweepPart calls sweep for every note of a part that is older than age, and
// then removes the note.
func (s *Store) sweepPart(ctx context.Context, part string, age time.Duration, total *Swept,
	sweep func(ctx context.Context, n note) (Swept, error),
) error {
	if err := errors.Join(ctx.Err(), s.open()); err != nil {
		return err
	}
	if s.connections.seen.Load() == nil { // so that the time is that of the server
		if err := s.bucket.ping(ctx); err != nil {
			return err
		}
	}
	var (
		mu   sync.Mutex // of errs and total
		errs []error
		work sync.WaitGroup
		busy = make(chan struct{}, sweeps)
	)
	keep := func(swept Swept, err error) {
		mu.Lock()
		defer mu.Unlock()
		total.Blobs += swept.Blobs
		total.Uploads += swept.Uploads
		if err != nil && len(errs) < sweeps {
			errs = append(errs, err)
		}
	}
	for object, err := range s.bucket.list(ctx, part, "") {
		if err == nil {
			err = s.open()
		}
		if err != nil {
			keep(Swept{}, err)
			break
		}
		// Both times are by the clock of the server: that of its last answer, and that of the object.
		if !isID(strings.TrimPrefix(object.Key, part)) || s.now().Sub(object.LastModified) < age {
			continue
		}
		busy <- struct{}{}
		work.Go(func() {
			defer func() { <-busy }()
			keep(s.sweepNote(ctx, object, sweep))
		})
	}
	work.Wait()
	return errors.Join(errs...)
}

func (s *Store) sweepNote(ctx context.Context, object minio.ObjectInfo,
	sweep func(ctx context.Context, n note) (Swept, error),
) (Swept, error) {
	data, err := s.bucket.small(ctx, object.Key)
	if errors.Is(err, storage.ErrNotFound) {
		return Swept{}, nil // another sweep was faster
	}
	if err != nil {
		return Swept{}, err
	}
	n, err := decodeNote(data)
	if err != nil {
		return Swept{}, failed("read", object.Key, err)
	}
	swept, err := sweep(ctx, n)
	if err != nil {
		return swept, failed("sweep blob", n.Key, err)
	}
	return swept, s.bucket.remove(ctx, object.Key)
}

// sweepChange removes the bytes that the key's record does not name. While the
// record is damaged it removes nothing: the bytes may be needed to restore it.
func (s *Store) sweepChange(ctx context.Context, n note) (Swept, error) {
	var swept Swept
	found, err := s.find(ctx, n.Key)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return swept, err
	}
	for _, id := range n.Bytes {
		if id == found.Bytes {
			continue
		}
		if err := s.bucket.remove(ctx, bytesPart+id); err != nil {
			return swept, err
		}
		swept.Blobs++
	}
	return swept, nil
}

// sweepUpload aborts an upload that is not complete.
func (s *Store) sweepUpload(ctx context.Context, n note) (Swept, error) {
	if err := s.bucket.abort(ctx, bytesPart+n.Bytes[0], n.Upload); err != nil {
		return Swept{}, err
	}
	return Swept{Uploads: 1}, nil
}
