package modelrepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/iotenablers/enablers/modelrepo/internal/tus"
	"github.com/iotenablers/enablers/storage"
)

// MaxUploadMetadata is the size of the largest metadata of a resumable upload, in bytes.
const MaxUploadMetadata = 4 << 10

// ResumableOptions changes how a resumable upload begins. The zero value is the
// default.
type ResumableOptions struct {
	UploadOptions
	// Metadata is stored with the upload and returned with it, at most 4 KiB. It
	// has no other effect.
	Metadata string
}

// ResumableUpload is the state of a resumable upload.
type ResumableUpload struct {
	// ID names the upload. Any client that has it may continue the upload.
	ID string
	// Version and Format are where the content goes.
	Version Path
	Format  string
	// Length is the size of the whole content, and Offset how many of its bytes
	// are durable. When they are equal the content has been published.
	Length, Offset int64
	// Expires is when the upload is removed unless it receives bytes before, in UTC.
	Expires time.Time
	// Metadata is the metadata that the upload began with.
	Metadata string
	// Result is the result of publishing; nil before the content was published.
	Result *Uploaded
}

// Checksum is what a client announced about the bytes of a piece. The zero Checksum
// announces nothing.
type Checksum struct {
	// Algorithm is sha1, sha256, sha512 or md5.
	Algorithm string
	// Sum is the sum, in as many bytes as the algorithm has.
	Sum []byte
}

// Uploads are the resumable uploads of a repository, see [Store.Uploads].
type Uploads struct {
	contents *contents
	stored   *tus.Uploads
}

// Uploads returns the resumable uploads of the repository. They survive a restart and
// are shared by all processes that share the storage. One that receives nothing for
// [Config].Grace is removed.
func (s *Store) Uploads() *Uploads { return s.uploads }

// Begin begins an upload of length bytes, which [Uploads.Continue] adds. The rules for
// the content are checked now and again at the end. An upload of length 0 is published
// at once. opts may be nil.
//
// The error matches what that of [Store.Upload] may match, and [ErrInvalid] for a
// negative length and for metadata that are too long.
func (u *Uploads) Begin(
	ctx context.Context, at Path, format string, length int64, opts *ResumableOptions,
) (ResumableUpload, error) {
	const op = "begin upload"
	if opts == nil {
		opts = &ResumableOptions{}
	}
	if err := checkUpload(op, at, format, opts.ContentType); err != nil {
		return ResumableUpload{}, err
	}
	switch {
	case length < 0:
		return ResumableUpload{}, refuse(op, at, ErrInvalid, "The length of an upload cannot be negative.")
	case len(opts.Metadata) > MaxUploadMetadata:
		return ResumableUpload{}, refuse(op, at, ErrInvalid,
			"The metadata of an upload can have at most %d bytes.", MaxUploadMetadata)
	}
	options := opts.UploadOptions
	options.ContentType = orBytes(options.ContentType)
	probe := upload{contents: u.contents, op: op, at: at, format: format, options: options}
	n, err := probe.precheck(ctx, length)
	switch {
	case errors.Is(err, errAbsent):
		return ResumableUpload{}, u.contents.tree.unlessAlias(ctx, op, at, missingVersion(op, at))
	case err != nil:
		return ResumableUpload{}, failed(op, at, err)
	}
	begun, err := u.stored.Begin(ctx, tus.Upload{
		Version: at.String(), VersionID: n.ID, Format: format, Length: length, Metadata: opts.Metadata,
		Options: tus.Options{
			ContentType: options.ContentType, Overwrite: options.Overwrite,
			Match: options.Condition.Match, NoneMatch: options.Condition.NoneMatch,
			MD5: options.Digests.MD5, SHA256: options.Digests.SHA256, SHA512: options.Digests.SHA512,
		},
	})
	if err != nil {
		return publicUpload(begun), resumableError(op, begun, err)
	}
	return publicUpload(begun), nil
}

// Get returns the state of an upload, also for a while after its content was
// published. The error matches [ErrNotFound].
func (u *Uploads) Get(ctx context.Context, id string) (ResumableUpload, error) {
	found, err := u.stored.Get(ctx, id)
	if err != nil {
		return ResumableUpload{}, resumableError("get upload", found, err)
	}
	return publicUpload(found), nil
}

// Continue adds the bytes of the reader to an upload, at its offset. When the reader
// fails, the bytes before that are kept, unless there is a checksum, which then cannot
// be verified. Of two pieces for one offset one is kept, and the other one fails at its
// end. With the last byte the content is published, as [Store.Upload] does it; a
// refusal then ends the upload, and a context that ends then does not stop it. The
// zero Checksum verifies nothing.
//
// The error matches [ErrNotFound] if there is no such upload, [ErrOffset] if it is at
// another offset, [ErrTooLong] for bytes beyond the length, [ErrChecksum] if the bytes
// do not have the checksum, [ErrIncomplete] if the reader failed, and at the end what
// that of Upload may match.
func (u *Uploads) Continue(
	ctx context.Context, id string, offset int64, content io.Reader, checksum Checksum,
) (ResumableUpload, error) {
	continued, err := u.stored.Continue(ctx, id, offset, content, tus.Checksum(checksum))
	if err != nil {
		return publicUpload(continued), resumableError("continue upload", continued, err)
	}
	return publicUpload(continued), nil
}

// Cancel removes an upload and its pieces. Content that it has published stays. The
// error matches [ErrNotFound].
func (u *Uploads) Cancel(ctx context.Context, id string) error {
	if found, err := u.stored.Cancel(ctx, id); err != nil {
		return resumableError("cancel upload", found, err)
	}
	return nil
}

func publicUpload(u tus.Upload) ResumableUpload {
	at, _ := ParsePath(u.Version) // Begin has checked it
	r := ResumableUpload{
		ID: u.ID, Version: at, Format: u.Format, Length: u.Length, Offset: u.Offset,
		Expires: u.Expires, Metadata: u.Metadata,
	}
	if u.Result != nil {
		r.Result = &Uploaded{
			File: File{
				Size: u.Result.Size, MD5: u.Result.MD5, SHA256: u.Result.SHA256, ContentType: u.Result.ContentType,
			},
			Overwrote: u.Result.Overwrote, DefaultSet: u.Result.DefaultSet,
		}
	}
	return r
}

// resumableError returns the error in the words of the interface.
func resumableError(op string, u tus.Upload, err error) error {
	at, _ := ParsePath(u.Version)
	var offset *tus.OffsetError
	var incomplete *tus.IncompleteError
	switch {
	case errors.Is(err, tus.ErrNotFound):
		return refuse(op, Path{}, ErrNotFound,
			"There is no such upload, or it did not move for too long and was given up.")
	case errors.As(err, &offset):
		return refuse(op, at, ErrOffset, "The upload is at another offset than the request says: %d.", offset.Offset)
	case errors.Is(err, tus.ErrTooLong):
		return refuse(op, at, ErrTooLong,
			"The content is longer than the %d bytes that the upload was made for.", u.Length)
	case errors.Is(err, tus.ErrChecksum):
		return refuse(op, at, ErrChecksum, "The bytes do not have the announced checksum. They were not kept.")
	case errors.Is(err, tus.ErrAlgorithm):
		return refuse(op, at, ErrInvalid, "The algorithm of the checksum is not one of %s.", tus.Algorithms)
	case errors.Is(err, tus.ErrTooManyPieces):
		return refuse(op, at, ErrInvalid,
			"The upload came in more than %d pieces. Please send larger ones.", tus.MaxPieces)
	case errors.Is(err, storage.ErrDamaged):
		return &Error{Op: op, Path: at.String(), Err: fmt.Errorf("%w: %w", ErrDamaged, err),
			Text: "A part of the upload that was stored before is damaged. The upload was removed, please upload again."}
	case errors.As(err, &incomplete):
		return &Error{
			Op: op, Path: at.String(), Err: fmt.Errorf("%w: %w", ErrIncomplete, incomplete.Cause),
			Text: fmt.Sprintf("The request ended before it was complete. The upload is at the offset %d.",
				incomplete.Offset),
		}
	}
	return failed(op, at, err)
}

// errPublished is returned when a resumable upload has published its content before.
var errPublished = errors.New("modelrepo: upload was published already")

// recentlyPublished is how many identifiers of published uploads a version keeps. They
// bridge the time between publishing and the update of the upload's own document.
const recentlyPublished = 32

// Publish implements [tus.Publisher].
func (c *contents) Publish(ctx context.Context, p tus.Upload, content io.Reader) (tus.Result, bool, error) {
	at, err := ParsePath(p.Version)
	if err != nil {
		return tus.Result{}, false, fmt.Errorf("%v", err) // a fault of the storage is no refusal
	}
	o := p.Options
	result, err := c.upload(ctx, upload{
		contents: c, op: "upload content", at: at, format: p.Format, resumable: p.ID, versionID: p.VersionID,
		options: UploadOptions{
			ContentType: o.ContentType, Overwrite: o.Overwrite,
			Condition: Condition{Match: o.Match, NoneMatch: o.NoneMatch},
			Digests:   Digests{MD5: o.MD5, SHA256: o.SHA256, SHA512: o.SHA512},
		},
	}, content)
	if errors.Is(err, errPublished) {
		result, err = c.published(ctx, at, p)
	}
	return tus.Result{
		Size: result.Size, MD5: result.MD5, SHA256: result.SHA256, ContentType: result.ContentType,
		Overwrote: result.Overwrote, DefaultSet: result.DefaultSet,
	}, final(err), err
}

// published returns the result of an upload that was published before.
func (c *contents) published(ctx context.Context, at Path, p tus.Upload) (Uploaded, error) {
	_, found, err := c.tree.entry(ctx, "continue upload", at, p.Format)
	if errors.Is(err, ErrNotFound) {
		return Uploaded{File: File{Size: p.Length}}, nil // and deleted since
	}
	return Uploaded{File: found.file()}, err
}

// final reports whether an upload would be refused again with the same error.
func final(err error) bool {
	var refusal *Error
	return errors.As(err, &refusal) &&
		!errors.Is(err, ErrExpired) && !errors.Is(err, ErrIncomplete) && !errors.Is(err, ErrQuota)
}
