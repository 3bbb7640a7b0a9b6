package modelrepo

import (
	"cmp"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/internal/tracing"
	"github.com/iotenablers/enablers/modelrepo/internal/cleanup"
	"github.com/iotenablers/enablers/modelrepo/internal/transfer"
	"github.com/iotenablers/enablers/storage"
)

// UploadOptions changes how content is uploaded. The zero value is the default.
type UploadOptions struct {
	// ContentType is the media type to store. Empty means
	// "application/octet-stream". At most 1024 printable ASCII characters.
	ContentType string
	// Overwrite permits replacing content in this format.
	Overwrite bool
	// Condition must be met when the upload begins and when it ends.
	Condition Condition
	// Digests are verified before anything becomes visible.
	Digests Digests
}

// Uploaded is the result of an upload.
type Uploaded struct {
	File
	// Overwrote is set if the upload replaced content.
	Overwrote bool
	// DefaultSet is set if the version had no default format, and now has this one: of
	// several uploads at one time, the first one that ends.
	DefaultSet bool
}

// Upload stores the bytes of the reader as the content of a version in a format.
// Nothing is visible before everything is durable, and nothing remains when the reader
// fails. The reader must fail with an error other than [io.EOF] if the content is not
// complete. A format tag has 1 to 100 ASCII letters, digits, and _ - / + . with a letter or
// digit first; it should be the media type of the content. opts may be nil.
//
// The error matches [ErrInvalid] for an invalid format tag or the tag [Latest],
// [ErrNotFound] if there is no such version, [ErrContentExists] if there is content and
// Overwrite is not set, [ErrPrecondition], [ErrDigest], [ErrIncomplete] if the reader
// failed, [ErrExpired], [ErrImmutable], [ErrTooLarge] or [ErrQuota].
func (s *Store) Upload(
	ctx context.Context, at Path, format string, content io.Reader, opts *UploadOptions,
) (Uploaded, error) {
	const op = "upload content"
	u := upload{contents: s.contents, op: op, at: at, format: format}
	if opts != nil {
		u.options = *opts
	}
	u.options.ContentType = orBytes(u.options.ContentType)
	if err := checkUpload(op, at, format, u.options.ContentType); err != nil {
		return Uploaded{}, err
	}
	return s.contents.upload(ctx, u, content)
}

// checkUpload refuses an upload that can never succeed.
func checkUpload(op string, at Path, format, contentType string) error {
	if err := refuseLatest(op, at); err != nil {
		return err
	}
	if err := checkFormat(op, at, format); err != nil {
		return err
	}
	if !validContentType(contentType) {
		return refuse(op, at, ErrInvalid, "The content type must have at most %d printable ASCII characters.",
			maxContentType)
	}
	if !at.valid(3) {
		return missingVersion(op, at)
	}
	return nil
}

// maxContentType is how many bytes of a content type are stored. It is part of the
// version's document, whose size is bounded.
const maxContentType = 1024

// validContentType reports whether a header field can have the value.
func validContentType(text string) bool {
	return len(text) <= maxContentType && !strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' })
}

// orBytes returns the media type, or that of unspecified bytes if it is empty.
func orBytes(mediaType string) string { return cmp.Or(mediaType, "application/octet-stream") }

// Digests are the digests that a client announced for content. A nil digest was not
// announced.
type Digests struct {
	// MD5 has 16 bytes, SHA256 32 and SHA512 64.
	MD5, SHA256, SHA512 []byte
}

// mismatch returns the name of the first digest that the bytes do not have, or "".
func (d Digests) mismatch(info storage.BlobInfo, sha512sum hash.Hash) string {
	switch {
	case d.MD5 != nil && hex.EncodeToString(d.MD5) != info.MD5:
		return "MD5"
	case d.SHA256 != nil && hex.EncodeToString(d.SHA256) != info.SHA256:
		return "SHA-256"
	case d.SHA512 != nil && string(d.SHA512) != string(sha512sum.Sum(nil)):
		return "SHA-512"
	}
	return ""
}

// upload runs an upload. Its errors have the words of the interface.
func (c *contents) upload(ctx context.Context, u upload, content io.Reader) (Uploaded, error) {
	ctx, span := c.tracer.Start(ctx, "upload", tracing.Internal)
	defer span.End()
	if span.On() {
		span.Text("modelrepo.version", u.at.String())
		span.Text("modelrepo.format", u.format)
	}
	result, err := u.run(ctx, content)
	span.Fail(err)
	switch {
	case errors.Is(err, errAbsent):
		return Uploaded{}, c.tree.unlessAlias(ctx, u.op, u.at, missingVersion(u.op, u.at))
	case err != nil:
		return Uploaded{}, failed(u.op, u.at, err)
	}
	span.Number("modelrepo.size", result.Size)
	c.stats.uploads.Add(1)
	c.stats.uploadedBytes.Add(uint64(result.Size))
	return result, nil
}

// upload is one upload in progress.
type upload struct {
	contents *contents
	op       string
	at       Path
	format   string
	options  UploadOptions
	ticket   ticket
	// resumable and versionID are the identifiers of a resumable upload and of the
	// node that it is for; empty for other uploads.
	resumable, versionID string
	// replaces is the size of the content that was there when the upload began.
	replaces int64
}

func (u *upload) run(ctx context.Context, content io.Reader) (Uploaded, error) {
	tracer := u.contents.tracer
	begun, span := tracer.Start(ctx, "begin upload", tracing.Internal)
	err := u.begin(begun)
	span.Fail(err)
	span.End()
	if err != nil {
		return Uploaded{}, err
	}
	received, span := tracer.Start(ctx, "receive content", tracing.Internal)
	info, err := u.receive(received, content)
	span.Fail(err)
	span.End()
	if err != nil {
		u.abandon(ctx, false)
		return Uploaded{}, err
	}
	shared, span := tracer.Start(ctx, "share content", tracing.Internal)
	blob, err := u.share(shared, info)
	span.Fail(err)
	span.End()
	if err != nil {
		u.abandon(ctx, false) // the digest's document may name the blob
		return Uploaded{}, err
	}
	var result Uploaded
	uploaded := contentEvent(ContentUpload, u.at, contentBody{Format: u.format})
	finished, span := tracer.Start(ctx, "finish upload", tracing.Internal)
	defer span.End()
	err = u.contents.hooks.Record(finished, func() (err error) {
		result, err = u.finish(finished, info, blob)
		uploaded.Body = contentBody{Format: u.format, File: &result.File, Overwrote: result.Overwrote}
		return err
	}, uploaded)
	span.Fail(err)
	if err != nil {
		u.abandon(ctx, blob != u.ticket.Blob)
		return Uploaded{}, err
	}
	if blob != u.ticket.Blob {
		u.discard(ctx) // another blob has the same bytes
	} else {
		u.contents.checker.Written(ctx, blob, info.Size)
	}
	return result, nil
}

// allowed returns why the content may not be written to the version as it is now.
func (u *upload) allowed(n *node) error {
	i := n.entryAt(u.format)
	switch {
	case u.versionID != "" && u.versionID != n.ID:
		return errAbsent // deleted, and created again
	case u.resumable != "" && slices.Contains(n.Published, u.resumable):
		return errPublished
	case n.Immutable:
		return n.refuseImmutable(u.op, u.at)
	case !u.options.Condition.met(n.Formats, i):
		return refuse(u.op, u.at, ErrPrecondition, unmet, u.format)
	case i >= 0 && !u.options.Overwrite:
		return refuse(u.op, u.at, ErrContentExists,
			"Content in format '%s' already exists for this model version. "+
				"If you want to update it, it is recommended to create a new version instead. "+
				"If you really want to overwrite this content, retry the upload with the 'overwrite=1' query parameter.",
			u.format)
	}
	return nil
}

// replace sets the size of the content that the upload is going to replace.
func (u *upload) replace(n *node) {
	if i := n.entryAt(u.format); i >= 0 {
		u.replaces = n.Formats[i].Size
	}
}

// precheck refuses content of a size that could not be stored as the version is now.
func (u *upload) precheck(ctx context.Context, size int64) (node, error) {
	n, err := u.contents.tree.find(ctx, u.at, 3)
	if err != nil {
		return n, err
	}
	if err := u.allowed(&n); err != nil {
		return n, err
	}
	u.replace(&n)
	return n, u.fits(ctx, size)
}

// begin enters the ticket. From now on collection leaves the blob alone.
func (u *upload) begin(ctx context.Context) error {
	id := newID()
	u.ticket = ticket{ID: id, Blob: blobPrefix + id, Renewed: time.Now().UTC()}
	_, err := u.contents.tree.edit(ctx, u.at, func(n *node) error {
		if err := u.allowed(n); err != nil {
			return err
		}
		u.replace(n)
		n.Uploads = append(n.Uploads, u.ticket)
		return nil
	})
	return err
}

// withTicket changes the version if the ticket, at index i, is still there.
func (u *upload) withTicket(ctx context.Context, change func(n *node, i int) error) error {
	_, err := u.contents.tree.edit(ctx, u.at, func(n *node) error {
		i := n.ticketAt(u.ticket.ID)
		if i < 0 {
			return refuse(u.op, u.at, ErrExpired,
				"The upload did not move for too long and was given up. Please upload again.")
		}
		return change(n, i)
	})
	return err
}

// receive makes the bytes durable in the ticket's blob.
func (u *upload) receive(ctx context.Context, content io.Reader) (storage.BlobInfo, error) {
	writer, err := u.contents.blobs.Create(ctx, u.ticket.Blob)
	if err != nil {
		return storage.BlobInfo{}, err
	}
	defer func() { _ = writer.Abort() }() // does nothing after Commit
	var sha512sum hash.Hash
	to := io.Writer(writer)
	if u.options.Digests.SHA512 != nil {
		sha512sum = sha512.New()
		to = io.MultiWriter(writer, sha512sum)
	}
	if err := u.stream(ctx, to, &metered{from: content, upload: u, ctx: ctx}); err != nil {
		return storage.BlobInfo{}, err
	}
	// The digests are known after the commit only. No reader sees the ticket's blob.
	info, err := writer.Commit(ctx)
	if err != nil {
		return storage.BlobInfo{}, err
	}
	if wrong := u.options.Digests.mismatch(info, sha512sum); wrong != "" {
		u.discard(ctx)
		return storage.BlobInfo{}, refuse(u.op, u.at, ErrDigest,
			"The content does not have the announced %s digest. Nothing was stored.", wrong)
	}
	return info, nil
}

// stream copies the content and renews the ticket from time to time.
func (u *upload) stream(ctx context.Context, to io.Writer, content io.Reader) error {
	renewed := time.Now()
	err := u.contents.copier.Copy(to, content, func() error {
		if time.Since(renewed) <= u.contents.grace/4 {
			return nil
		}
		renewed = time.Now()
		return u.withTicket(ctx, func(n *node, i int) error { n.Uploads[i].Renewed = renewed.UTC(); return nil })
	})
	var refusal *Error
	switch source := new(transfer.SourceError); {
	case !errors.As(err, &source) || errors.As(err, &refusal):
		return err // of the storage, or a refusal of the reader
	case errors.Is(source.Cause, os.ErrDeadlineExceeded): // which also ends the context of a request
		return &Error{Op: u.op, Path: u.at.String(), Err: fmt.Errorf("%w: %w", ErrIncomplete, source.Cause),
			Text: "No bytes of the content arrived for too long. Nothing was stored."}
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return &Error{Op: u.op, Path: u.at.String(), Err: fmt.Errorf("%w: %w", ErrIncomplete, source.Cause),
			Text: "The content ended before it was complete. Nothing was stored."}
	}
}

// finish replaces the ticket by the entry of the format.
func (u *upload) finish(ctx context.Context, info storage.BlobInfo, blob string) (Uploaded, error) {
	e := entry{
		Format: u.format, Blob: blob, SHA256: info.SHA256, MD5: info.MD5, Size: info.Size,
		ContentType: u.options.ContentType, Uploaded: time.Now().UTC(),
	}
	result := Uploaded{File: e.file()}
	grows := u.contents.usage.reservation(u.at)
	err := u.withTicket(ctx, func(n *node, i int) error {
		if err := u.allowed(n); err != nil {
			return err
		}
		replaced := int64(0)
		if at := n.entryAt(u.format); at >= 0 {
			replaced = n.Formats[at].Size
		}
		if err := grows.reserve(ctx, u.op, u.at, info.Size-replaced); err != nil {
			return err
		}
		n.Uploads = slices.Delete(n.Uploads, i, i+1)
		at := n.entryAt(u.format)
		result.Overwrote, result.DefaultSet = at >= 0, n.DefaultFormat == ""
		if at >= 0 {
			n.Formats[at] = e
		} else {
			n.Formats = append(n.Formats, e)
		}
		n.DefaultFormat = cmp.Or(n.DefaultFormat, u.format)
		if u.resumable != "" {
			n.Published = append(n.Published, u.resumable)
			n.Published = n.Published[max(0, len(n.Published)-recentlyPublished):]
		}
		return nil
	})
	if err != nil {
		grows.release()
		return result, err
	}
	grows.commit()
	return result, nil
}

// abandon removes the ticket, after the blob if nothing can refer to that. Repair and
// Collect remove what remains.
func (u *upload) abandon(ctx context.Context, withBlob bool) {
	if withBlob {
		u.discard(ctx)
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	_, _ = u.contents.tree.edit(ctx, u.at, func(n *node) error {
		i := n.ticketAt(u.ticket.ID)
		if i < 0 {
			return errKeep
		}
		n.Uploads = slices.Delete(n.Uploads, i, i+1)
		return nil
	})
}

// discard deletes the ticket's blob, which nothing refers to.
func (u *upload) discard(ctx context.Context) {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	_ = u.contents.blobs.Delete(ctx, u.ticket.Blob)
}

// metered is the content of an upload. It fails when the content exceeds the limits.
type metered struct {
	from   io.Reader
	upload *upload
	ctx    context.Context
	size   int64
}

// Read implements [io.Reader].
func (m *metered) Read(p []byte) (int, error) {
	n, err := m.from.Read(p)
	m.size += int64(n)
	var refusal *Error
	if errors.As(m.upload.fits(m.ctx, m.size), &refusal) { // other errors occur again at the end
		return n, refusal
	}
	return n, err
}

// fits returns why content of that size cannot be stored.
func (u *upload) fits(ctx context.Context, size int64) error {
	most := u.contents.maxBytes
	if most > 0 && size > most {
		return refuse(u.op, u.at, ErrTooLarge, "The content is too large: the most is %d bytes. Nothing was stored.",
			most)
	}
	if u.contents.usage.most == 0 {
		return nil
	}
	return u.contents.usage.room(ctx, u.op, u.at, size-u.replaces)
}
