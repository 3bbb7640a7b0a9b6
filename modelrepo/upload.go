package modelrepo

import (
	"cmp"
	"context"
	"crypto/sha512"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// UploadOptions changes how content is uploaded. The zero value is the default.
type UploadOptions struct {
	// ContentType is the media type to store. Empty means
	// "application/octet-stream". At most 1024 printable ASCII characters.
	ContentType string
	// Overwrite allows to replace the content that is there in this format.
	Overwrite bool
	// Condition must be met when the upload begins and when it ends.
	Condition Condition
	// Digests are verified before anything becomes visible.
	Digests Digests
}

// Uploaded says what an upload did.
type Uploaded struct {
	File
	// Overwrote says that there had been content in this format.
	Overwrote bool
	// DefaultSet says that the version had no default format, and now has this.
	DefaultSet bool
}

// Upload stores what the reader gives, to its end, as the content of a version
// in a format. Nothing is visible before everything is durable, and nothing
// stays when the reader fails. The reader must fail with something other than
// [io.EOF] when the content is not complete. opts may be nil.
//
// The error matches [ErrInvalid] for a bad format tag or the tag [Latest],
// [ErrNotFound] if there is no such version, [ErrContentExists] if there is
// content and Overwrite is not set, [ErrPrecondition], [ErrDigest],
// [ErrIncomplete] if the reader failed, [ErrExpired], [ErrImmutable],
// [ErrTooLarge], [ErrQuota].
func (s *Store) Upload(ctx context.Context, at Path, format string, content io.Reader, opts *UploadOptions) (Uploaded, error) {
	const op = "upload content"
	u := upload{store: s, op: op, at: at, format: format}
	if opts != nil {
		u.options = *opts
	}
	u.options.ContentType = orBytes(u.options.ContentType)
	if err := checkUpload(op, at, format, u.options.ContentType); err != nil {
		return Uploaded{}, err
	}
	return s.upload(ctx, u, content)
}

// checkUpload refuses what can never be uploaded to.
func checkUpload(op string, at Path, format, contentType string) error {
	if err := refuseLatest(op, at); err != nil {
		return err
	}
	if err := checkFormat(op, at, format); err != nil {
		return err
	}
	if !validContentType(contentType) {
		return refuse(op, at, ErrInvalid, "The content type must have at most %d printable ASCII characters.", maxContentType)
	}
	if !at.valid(3) {
		return missingVersion(op, at)
	}
	return nil
}

// maxContentType is how many bytes of a content type are stored. It is part of
// the version's document, which must not grow without bound.
const maxContentType = 1024

// validContentType reports whether a header can carry it.
func validContentType(text string) bool {
	return len(text) <= maxContentType && !strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' })
}

// upload does it, with errors in the words of the interface.
func (s *Store) upload(ctx context.Context, u upload, content io.Reader) (Uploaded, error) {
	result, err := u.run(ctx, content)
	switch {
	case errors.Is(err, errAbsent):
		return Uploaded{}, s.unlessAlias(ctx, u.op, u.at, missingVersion(u.op, u.at))
	case err != nil:
		return Uploaded{}, failed(u.op, u.at, err)
	}
	s.stats.uploads.Add(1)
	s.stats.uploadedBytes.Add(uint64(result.Size))
	return result, nil
}

// orBytes is a media type, or the one of bytes that say nothing about it.
func orBytes(mediaType string) string { return cmp.Or(mediaType, "application/octet-stream") }

// upload is one upload under way.
type upload struct {
	store   *Store
	op      string
	at      Path
	format  string
	options UploadOptions
	ticket  ticket
	// Of an upload in pieces: its identifier, and the node that it is for.
	partial, versionID string
	// replaces is the size of what was there when the upload began.
	replaces int64
}

func (u *upload) run(ctx context.Context, content io.Reader) (Uploaded, error) {
	if err := u.begin(ctx); err != nil {
		return Uploaded{}, err
	}
	info, err := u.receive(ctx, content)
	if err != nil {
		u.abandon(ctx, false)
		return Uploaded{}, err
	}
	blob, err := u.claim(ctx, info)
	if err != nil {
		u.abandon(ctx, false) // the digest's document may name the blob
		return Uploaded{}, err
	}
	var result Uploaded
	uploaded := &event{Action: ContentUpload, At: u.at, Format: u.format}
	err = u.store.told(ctx, func() (err error) {
		result, err = u.finish(ctx, info, blob)
		uploaded.Body = contentBody{Format: u.format, File: &result.File, Overwrote: result.Overwrote}
		return err
	}, uploaded)
	if err != nil {
		u.abandon(ctx, blob != u.ticket.Blob)
		return Uploaded{}, err
	}
	if blob != u.ticket.Blob {
		u.discard(ctx) // the same bytes had been there
	}
	return result, nil
}

// allowed returns why the content may not be written as the version now is.
func (u *upload) allowed(n *node) error {
	i := n.entryAt(u.format)
	switch {
	case u.versionID != "" && u.versionID != n.ID:
		return errAbsent // deleted, and created again
	case u.partial != "" && slices.Contains(n.Published, u.partial):
		return errPublished
	case n.Immutable:
		return n.refuseImmutable(u.op, u.at)
	case !u.options.Condition.met(n.Formats, i):
		return refuse(u.op, u.at, ErrPrecondition, unmet, u.format)
	case i >= 0 && !u.options.Overwrite:
		return refuse(u.op, u.at, ErrContentExists, "Content in format '%s' already exists for this model version. If you want to update it, it is recommended to create a new version instead. "+
			"If you really want to overwrite this content, retry the upload with the 'overwrite=1' query parameter.", u.format)
	}
	return nil
}

// replace remembers what the upload is going to replace.
func (u *upload) replace(n *node) {
	if i := n.entryAt(u.format); i >= 0 {
		u.replaces = n.Formats[i].Size
	}
}

// begin enters the ticket. From here on collection leaves the blob alone.
func (u *upload) begin(ctx context.Context) error {
	id := newID()
	u.ticket = ticket{ID: id, Blob: blobPrefix + id, Renewed: time.Now().UTC()}
	_, err := u.store.edit(ctx, u.at, func(n *node) error {
		if err := u.allowed(n); err != nil {
			return err
		}
		u.replace(n)
		n.Uploads = append(n.Uploads, u.ticket)
		return nil
	})
	return err
}

// withTicket changes the version while the ticket, at index i, is there.
func (u *upload) withTicket(ctx context.Context, change func(n *node, i int) error) error {
	_, err := u.store.edit(ctx, u.at, func(n *node) error {
		i := n.ticketAt(u.ticket.ID)
		if i < 0 {
			return refuse(u.op, u.at, ErrExpired, "The upload did not move for too long and was given up. Please upload again.")
		}
		return change(n, i)
	})
	return err
}

// receive makes the bytes durable under the ticket's blob.
func (u *upload) receive(ctx context.Context, content io.Reader) (storage.BlobInfo, error) {
	writer, err := u.store.blobs.Create(ctx, u.ticket.Blob)
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
	// The digests are known at the end only. Under the ticket's key nobody
	// sees the blob.
	info, err := writer.Commit(ctx)
	if err != nil {
		return storage.BlobInfo{}, err
	}
	if wrong := u.options.Digests.mismatch(info, sha512sum); wrong != "" {
		u.discard(ctx)
		return storage.BlobInfo{}, refuse(u.op, u.at, ErrDigest, "The content does not have the announced %s digest. Nothing was stored.", wrong)
	}
	return info, nil
}

// stream copies the content and renews the ticket now and then.
func (u *upload) stream(ctx context.Context, to io.Writer, content io.Reader) error {
	renewed := time.Now()
	err := u.store.transfer(to, content, func() error {
		if time.Since(renewed) <= u.store.config.Grace/4 {
			return nil
		}
		renewed = time.Now()
		return u.withTicket(ctx, func(n *node, i int) error { n.Uploads[i].Renewed = renewed.UTC(); return nil })
	})
	var refusal *Error
	switch source := new(sourceError); {
	case !errors.As(err, &source) || errors.As(err, &refusal):
		return err // of the store, or the reader knows what is wrong
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return &Error{Op: u.op, Path: u.at.String(), Err: fmt.Errorf("%w: %w", ErrIncomplete, source.cause),
			Text: "The content ended before it was complete. Nothing was stored."}
	}
}

// claim makes the document of the bytes' digest say where they are, and returns
// the key of that blob: the ticket's, or one that had the same bytes before.
// Either way the document is at a revision that collection has not seen, or
// collection will see the ticket.
func (u *upload) claim(ctx context.Context, info storage.BlobInfo) (blob string, err error) {
	docs, key := u.store.docs, contentPrefix+info.SHA256
	entered := u.ticket.SHA256 == info.SHA256 // an import's has it from the beginning
	for attempt := 0; ; attempt++ {
		doc, err := docs.Get(ctx, key)
		if errors.Is(err, storage.ErrNotFound) {
			_, err = docs.Create(ctx, key, encode(digest{Blob: u.ticket.Blob, Size: info.Size}))
			if err == nil {
				return u.ticket.Blob, nil
			}
			if !errors.Is(err, storage.ErrExists) {
				return "", err
			}
			doc, err = docs.Get(ctx, key)
		}
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return "", err
		}
		if err == nil {
			if !entered {
				// The digest must be in the ticket before its document is
				// touched, else collection could find neither.
				if err := u.enterDigest(ctx, info.SHA256); err != nil {
					return "", err
				}
				entered = true
			}
			blob, err := u.touch(ctx, doc)
			if err == nil || !moved(err) {
				return blob, err
			}
		}
		if err := pause(ctx, attempt); err != nil {
			return "", err
		}
	}
}

func (u *upload) enterDigest(ctx context.Context, sha256 string) error {
	return u.withTicket(ctx, func(n *node, i int) error { n.Uploads[i].SHA256 = sha256; return nil })
}

// touch writes the document of a digest again and returns the blob that it
// names, which is the upload's own if the other one cannot be shared.
func (u *upload) touch(ctx context.Context, doc storage.Document) (blob string, err error) {
	found, err := decode[digest](doc)
	if err != nil {
		return "", err
	}
	if found.Blob != u.ticket.Blob {
		usable, err := u.store.usable(ctx, found.Blob)
		if err != nil {
			return "", err
		}
		if !usable {
			found.Blob = u.ticket.Blob
		}
	}
	found.Unreferenced = time.Time{}
	_, err = u.store.docs.Update(ctx, doc.Key, doc.Revision, encode(found))
	return found.Blob, err
}

// finish replaces the ticket by the entry of the format.
func (u *upload) finish(ctx context.Context, info storage.BlobInfo, blob string) (Uploaded, error) {
	e := entry{
		Format: u.format, Blob: blob, SHA256: info.SHA256, MD5: info.MD5, Size: info.Size,
		ContentType: u.options.ContentType, Uploaded: time.Now().UTC(),
	}
	result := Uploaded{File: e.file()}
	grows := u.store.changeOf(u.at)
	err := u.withTicket(ctx, func(n *node, i int) error {
		if err := u.allowed(n); err != nil {
			return err
		}
		replaced := int64(0)
		if at := n.entryAt(u.format); at >= 0 {
			replaced = n.Formats[at].Size
		}
		if err := grows.plan(ctx, u.store, u.op, u.at, info.Size-replaced); err != nil {
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
		if u.partial != "" {
			n.Published = append(n.Published, u.partial)
			n.Published = n.Published[max(0, len(n.Published)-recentPublished):]
		}
		return nil
	})
	if err != nil {
		grows.drop()
		return result, err
	}
	grows.done()
	return result, nil
}

// abandon takes the ticket away, after the blob if nothing can refer to that.
// What fails here is done by Repair and Collect.
func (u *upload) abandon(ctx context.Context, withBlob bool) {
	if withBlob {
		u.discard(ctx)
	}
	ctx, cancel := lastly(ctx)
	defer cancel()
	_, _ = u.store.edit(ctx, u.at, func(n *node) error {
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
	ctx, cancel := lastly(ctx)
	defer cancel()
	_ = u.store.blobs.Delete(ctx, u.ticket.Blob)
}
