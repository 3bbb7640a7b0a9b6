package modelrepo

import (
	"cmp"
	"context"
	"encoding/hex"
	"hash"
	"io"
	"strings"

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
// complete. opts may be nil.
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
