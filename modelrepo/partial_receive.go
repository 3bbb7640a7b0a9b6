package modelrepo

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"
)

// What a piece of an upload may weigh.
const (
	// longestPart is how many bytes become durable at a time, so that a crash
	// in a long piece does not lose more than that.
	longestPart = 64 << 20
	// maxParts bounds the upload's document.
	maxParts = 10_000
	// closing is how long making the last of a piece durable may go on after
	// its sender has gone.
	closing = time.Minute
)

// ContinueUpload adds the bytes that the reader gives to an upload, at the
// offset up to which it has them. When the reader fails, the bytes before that
// are kept, unless there is a checksum, of which then nothing can be said.
// Where two do this at once one gets all, and the other one fails at its end.
// With the last byte the content is published, as [Store.Upload] does it; what
// refuses that ends the upload, and a context that ends then does not stop it.
// The zero Checksum checks nothing.
//
// The error matches [ErrNotFound] if there is no such upload, [ErrOffset] if it
// is at another offset, [ErrTooLong] if the content would be longer than it
// should, [ErrChecksum] if the bytes do not have the checksum, [ErrIncomplete]
// if the reader failed, and at the end what that of Upload may match.
func (s *Store) ContinueUpload(ctx context.Context, id string, offset int64, content io.Reader, checksum Checksum) (Partial, error) {
	const op = "continue upload"
	p, err := s.loadPartial(ctx, op, id)
	if err != nil {
		return Partial{}, err
	}
	sum := checksum.new()
	if sum == nil && checksum.Algorithm != "" {
		return p.public(), refuse(op, p.at, ErrInvalid, "The algorithm of the checksum is not one of %s.", checksumAlgorithms)
	}
	if offset != p.Offset {
		return p.public(), wrongOffset(op, p.at, p.Offset)
	}
	r := receipt{store: s, op: op, p: p, sum: sum, want: checksum.Sum, body: &body{ctx: ctx, from: content}}
	err = r.receive(ctx)
	if err != nil {
		r.drop(ctx)
		var refusal *Error
		if !errors.As(err, &refusal) {
			err = failed(op, p.at, err)
		}
		return r.p.public(), err
	}
	if r.p.Result != nil || !r.complete() {
		return r.p.public(), nil
	}
	return s.publish(ctx, r.p, r.pending)
}

func wrongOffset(op string, at Path, offset int64) error {
	return refuse(op, at, ErrOffset, "The upload is at another offset than the request says: %d.", offset)
}

// body remembers why reading failed, and gives what came before.
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

// receipt is one piece that comes in.
type receipt struct {
	store   *Store
	op      string
	p       heldPartial
	sum     hash.Hash // nil without a checksum
	want    []byte
	body    *body
	pending []part // durable, and not yet in the upload's document
	size    int64  // of those
}

// complete reports whether every byte of the content is durable.
func (r *receipt) complete() bool { return r.p.Offset+r.size == r.p.Length }

// receive makes the piece durable. The bytes that complete the content stay
// pending: the document says that they are there when they are published.
func (r *receipt) receive(ctx context.Context) error {
	// What came in is kept also when its sender has gone.
	kept, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	for !r.complete() {
		if len(r.p.Parts)+len(r.pending) >= maxParts {
			return refuse(r.op, r.p.at, ErrInvalid, "The upload came in more than %d pieces. Please send larger ones.", maxParts)
		}
		before := r.body.read
		if err := r.part(kept); err != nil {
			return err
		}
		if r.sum == nil && !r.complete() {
			if err := r.record(kept); err != nil {
				return err
			}
		}
		if r.body.err != nil && !r.complete() {
			return &Error{Op: r.op, Path: r.p.at.String(), Err: fmt.Errorf("%w: %w", ErrIncomplete, r.body.err),
				Text: fmt.Sprintf("The request ended before it was complete. The upload is at the offset %d.", r.p.Offset)}
		}
		if r.body.read-before < r.store.longestPart {
			break
		}
	}
	if r.complete() {
		if n, _ := io.ReadFull(r.body, make([]byte, 1)); n > 0 {
			return refuse(r.op, r.p.at, ErrTooLong, "The content is longer than the %d bytes that the upload was made for.", r.p.Length)
		}
	}
	if r.sum == nil {
		return nil
	}
	if string(r.sum.Sum(nil)) != string(r.want) {
		return refuse(r.op, r.p.at, ErrChecksum, "The bytes do not have the announced checksum. They were not kept.")
	}
	if r.complete() {
		return nil
	}
	return r.record(kept)
}

// part makes the next bytes durable, at most longestPart.
func (r *receipt) part(ctx context.Context) error {
	piece := part{Key: newID()}
	writer, err := r.store.blobs.Create(ctx, r.p.blob(piece))
	if err != nil {
		return err
	}
	defer func() { _ = writer.Abort() }() // does nothing after Commit
	to := io.Writer(writer)
	if r.sum != nil {
		to = io.MultiWriter(writer, r.sum)
	}
	before := r.body.read
	from := io.LimitReader(r.body, min(r.store.longestPart, r.p.Length-r.p.Offset-r.size))
	if err := r.store.transfer(to, from, func() error { return nil }); err != nil {
		return err
	}
	if piece.Size = r.body.read - before; piece.Size == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closing)
	defer cancel()
	if _, err := writer.Commit(ctx); err != nil {
		return err
	}
	r.pending = append(r.pending, piece)
	r.size += piece.Size
	return nil
}

// record enters the pending parts into the upload's document.
func (r *receipt) record(ctx context.Context) error {
	if r.size == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closing)
	defer cancel()
	next := r.p.partial
	next.Parts = append(next.Parts[:len(next.Parts):len(next.Parts)], r.pending...)
	next.Offset += r.size
	next.Expires = r.store.expiry()
	revision, err := r.store.docs.Update(ctx, partialPrefix+r.p.id, r.p.revision, encode(next))
	if moved(err) {
		return r.overtaken(ctx)
	}
	if err != nil {
		r.pending = nil // they may have been entered
		return err
	}
	r.p.partial, r.p.revision, r.pending, r.size = next, revision, nil, 0
	return nil
}

// overtaken says that another one has moved the upload meanwhile.
func (r *receipt) overtaken(ctx context.Context) error {
	now, err := r.store.loadPartial(ctx, r.op, r.p.id)
	if err != nil {
		return err
	}
	return wrongOffset(r.op, r.p.at, now.Offset)
}

// drop removes the parts that nothing names.
func (r *receipt) drop(ctx context.Context) {
	r.store.removeParts(ctx, &r.p, r.pending)
	r.pending, r.size = nil, 0
}
