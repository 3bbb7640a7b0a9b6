package tus

import (
	"context"
	"hash"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/storage"
)

const (
	// MaxPieces bounds the document of an upload.
	MaxPieces = 10_000
	// finishing is how long the last bytes of a piece may take to become durable
	// after the connection has ended.
	finishing = time.Minute
)

// Continue adds a piece at an offset and returns the new state, also with an error.
// When the source fails, the bytes before that are kept, unless there is a checksum,
// which then cannot be verified. Of two pieces for one offset one is kept. With the
// last byte the content is published.
//
// The error matches [ErrNotFound], [ErrTooLong], [ErrChecksum], [ErrAlgorithm] or
// [ErrTooManyPieces], is an [*OffsetError] or an [*IncompleteError], or is one of the
// [Publisher].
func (s *Uploads) Continue(
	ctx context.Context, id string, offset int64, source io.Reader, checksum Checksum,
) (Upload, error) {
	u, err := s.Get(ctx, id)
	if err != nil {
		return Upload{}, err
	}
	sum := NewHash(checksum.Algorithm)
	if sum == nil && checksum.Algorithm != "" {
		return u, ErrAlgorithm
	}
	if offset != u.Offset {
		return u, &OffsetError{u.Offset}
	}
	r := receipt{uploads: s, upload: u, sum: sum, want: checksum.Sum, body: &body{ctx: ctx, from: source}}
	if err := r.receive(ctx); err != nil {
		s.removePieces(ctx, &r.upload, r.pending)
		return r.upload, err
	}
	if r.upload.Result != nil || !r.complete() {
		return r.upload, nil
	}
	return s.publish(ctx, r.upload, r.pending)
}

// body is the source of a piece. It ends where the source fails, and keeps the error.
type body struct {
	ctx  context.Context
	from io.Reader
	read int64
	err  error
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, io.EOF
	}
	if b.err = b.ctx.Err(); b.err != nil {
		return 0, io.EOF
	}
	n, err := b.from.Read(p)
	b.read += int64(n)
	if err != nil && err != io.EOF {
		b.err, err = err, io.EOF
	}
	return n, err
}

// receipt is one piece that is being received. It may become several blobs.
type receipt struct {
	uploads *Uploads
	upload  Upload
	sum     hash.Hash // nil without a checksum
	want    []byte
	body    *body
	pending []piece // durable, and not yet in the upload's document
	size    int64   // of those
}

// complete reports whether every byte of the content is durable.
func (r *receipt) complete() bool { return r.upload.Offset+r.size == r.upload.Length }

// receive makes the piece durable. The bytes that complete the content stay pending:
// they enter the document when they are published.
func (r *receipt) receive(ctx context.Context) error {
	// Received bytes are kept even when the connection has ended.
	kept, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	for !r.complete() {
		if len(r.upload.Pieces)+len(r.pending) >= MaxPieces {
			return ErrTooManyPieces
		}
		before := r.body.read
		if err := r.store(kept); err != nil {
			return err
		}
		if r.sum == nil && !r.complete() {
			if err := r.record(kept); err != nil {
				return err
			}
		}
		if r.body.err != nil && !r.complete() {
			return &IncompleteError{r.upload.Offset, r.body.err}
		}
		if r.body.read-before < r.uploads.PieceBytes {
			break
		}
	}
	if r.complete() {
		if n, _ := io.ReadFull(r.body, make([]byte, 1)); n > 0 {
			return ErrTooLong
		}
	}
	if r.sum == nil {
		return nil
	}
	if string(r.sum.Sum(nil)) != string(r.want) {
		return ErrChecksum
	}
	if r.complete() {
		return nil
	}
	return r.record(kept)
}

// store makes the next bytes durable, at most PieceBytes.
func (r *receipt) store(ctx context.Context) error {
	next := piece{Key: uuid.NewString()}
	writer, err := r.uploads.Blobs.Create(ctx, r.upload.blob(next))
	if err != nil {
		return err
	}
	defer func() { _ = writer.Abort() }() // does nothing after Commit
	to := io.Writer(writer)
	if r.sum != nil {
		to = io.MultiWriter(writer, r.sum)
	}
	before := r.body.read
	from := io.LimitReader(r.body, min(r.uploads.PieceBytes, r.upload.Length-r.upload.Offset-r.size))
	if err := r.uploads.Copier.Copy(to, from, func() error { return nil }); err != nil {
		return err
	}
	if next.Size = r.body.read - before; next.Size == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, finishing)
	defer cancel()
	if _, err := writer.Commit(ctx); err != nil {
		return err
	}
	r.pending = append(r.pending, next)
	r.size += next.Size
	return nil
}

// record enters the pending pieces in the upload's document.
func (r *receipt) record(ctx context.Context) error {
	if r.size == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, finishing)
	defer cancel()
	next := r.upload
	next.Pieces = append(next.Pieces[:len(next.Pieces):len(next.Pieces)], r.pending...)
	next.Offset += r.size
	next.Expires = r.uploads.expiry()
	revision, err := r.uploads.update(ctx, next)
	if storage.Overtaken(err) {
		return r.overtaken(ctx)
	}
	if err != nil {
		r.pending = nil // they may have been entered
		return err
	}
	next.revision = revision
	r.upload, r.pending, r.size = next, nil, 0
	return nil
}

// overtaken returns the offset to which another piece has moved the upload.
func (r *receipt) overtaken(ctx context.Context) error {
	now, err := r.uploads.Get(ctx, r.upload.ID)
	if err != nil {
		return err
	}
	return &OffsetError{now.Offset}
}
