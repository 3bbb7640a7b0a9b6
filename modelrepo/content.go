package modelrepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/iotenablers/enablers/internal/tracing"
	"github.com/iotenablers/enablers/modelrepo/internal/integrity"
	"github.com/iotenablers/enablers/modelrepo/internal/transfer"
	"github.com/iotenablers/enablers/modelrepo/internal/webhook"
	"github.com/iotenablers/enablers/storage"
)

// File describes the content of a version in one format.
type File struct {
	// Size is the length in bytes.
	Size int64 `json:"size"`
	// MD5 and SHA256 are the lower-case hex digests of the bytes.
	MD5    string `json:"md5"`
	SHA256 string `json:"sha256"`
	// ContentType is the media type of the content.
	ContentType string `json:"contentType"`
}

// ETag returns the entity tag of the bytes (RFC 9110 section 8.8.3) without its
// quotation marks. It is the SHA-256 digest.
func (f File) ETag() string { return f.SHA256 }

func (e entry) content() integrity.Content {
	return integrity.Content{Blob: e.Blob, Size: e.Size, SHA256: e.SHA256}
}

func (e entry) file() File {
	return File{Size: e.Size, MD5: e.MD5, SHA256: e.SHA256, ContentType: e.ContentType}
}

// Content reads content. Close it. It does not change when the content is overwritten
// or deleted meanwhile, within the bounds of [storage.BlobReader]. It is for one
// goroutine at a time.
//
// Content that is read from its beginning to its end is compared with its digest. If it is
// damaged, the Read that gets to the end returns an error that matches [ErrDamaged], and none
// of its bytes. A part that is read after a Seek is not compared, except by the REST interface.
// Content that is known to be damaged cannot be opened.
type Content struct {
	io.ReadSeekCloser
	File
	// Version is the version of the content, with its real tag.
	Version Path
	// Format is the format tag.
	Format string
	// Uploaded is when the upload ended, in UTC.
	Uploaded time.Time
}

// contents is the content of the versions: blobs, and a document for each digest that
// says which blob has its bytes.
type contents struct {
	tree      *tree
	docs      storage.Documents
	blobs     storage.Blobs
	hooks     *webhook.Hooks
	usage     *usage
	checker   *integrity.Checker
	collector *collector
	copier    *transfer.Copier
	stats     *counters
	maxBytes  int64 // of one content; 0 for no limit
	grace     time.Duration
	tracer    *tracing.Tracer
}

// Open opens the content of a version in a format, or in the version's default format
// if the format is empty. The version's tag may be [Latest] or an alias. The context
// also holds for reading. The error matches [ErrNotFound] if there is no such content, and
// [ErrDamaged] if its bytes are missing or known to be damaged.
func (s *Store) Open(ctx context.Context, at Path, format string) (*Content, error) {
	const op = "open content"
	missing := ""
	for {
		real, found, err := s.tree.entry(ctx, op, at, format)
		if err != nil {
			return nil, err
		}
		reader, err := s.contents.checker.Open(ctx, found.content())
		if errors.Is(err, storage.ErrNotFound) && missing != found.Blob {
			missing = found.Blob // replaced between the two steps, or missing
			continue
		}
		if errors.Is(err, storage.ErrNotFound) {
			err = fmt.Errorf("%w: %v", storage.ErrDamaged, err)
			s.contents.checker.Mark(ctx, found.content(), err)
		}
		if err != nil {
			return nil, failed(op, real, damaged(op, real, found.Format, err))
		}
		return &Content{
			ReadSeekCloser: &contentReader{reader, real, found.Format}, File: found.file(),
			Version: real, Format: found.Format, Uploaded: found.Uploaded,
		}, nil
	}
}

// hideAbsence returns an error of reading a blob that is named somewhere. That the blob is
// absent is a fault of the storage, and not the answer that there is no content.
func hideAbsence(err error) error {
	if errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("%v", err)
	}
	return err
}

// contentReader gives the errors about damage the words of the interface.
type contentReader struct {
	*integrity.Reader
	at     Path
	format string
}

// Read implements [io.Reader].
func (r *contentReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	return n, damaged("read content", r.at, r.format, err)
}

// Part is [integrity.Reader.Part].
func (r *contentReader) Part(n int64) (compared func() error, err error) {
	compared, err = r.Reader.Part(n)
	if beside := compared; beside != nil {
		compared = func() error { return damaged("read content", r.at, r.format, beside()) }
	}
	return compared, damaged("read content", r.at, r.format, err)
}

// damaged returns the refusal of damaged content, or another error as it is.
func damaged(op string, at Path, format string, err error) error {
	if !errors.Is(err, storage.ErrDamaged) {
		return err
	}
	return &Error{Op: op, Path: at.String(), Err: fmt.Errorf("%w: %w", ErrDamaged, err), Text: fmt.Sprintf(
		"The stored content in format '%s' of model version '%s' is damaged. To repair it, upload the same bytes again, "+
			"as another version or with the 'overwrite=1' query parameter, or restore a backup.", format, at)}
}

// Stat describes the content that [Store.Open] would open.
func (s *Store) Stat(ctx context.Context, at Path, format string) (File, error) {
	_, found, err := s.tree.entry(ctx, "stat content", at, format)
	return found.file(), err
}

// entry returns the entry of a format, or of the default format.
func (t *tree) entry(ctx context.Context, op string, at Path, format string) (Path, entry, error) {
	at, n, err := t.readVersion(ctx, op, at)
	if err != nil {
		return at, entry{}, err
	}
	byDefault := format == ""
	if byDefault {
		format = n.DefaultFormat
	}
	i := n.entryAt(format)
	switch {
	case i >= 0:
		return at, n.Formats[i], nil
	case !byDefault:
		err = refuse(op, at, ErrNotFound, "The specified format '%s' could not be found for this model version.", format)
	case format == "":
		err = refuse(op, at, ErrNotFound, "The 'format' parameter was not specified and the default format "+
			"for this model version is not set. Please specify the 'format' query parameter.")
	default:
		err = refuse(op, at, ErrNotFound, "The 'format' parameter was not specified and the default format '%s' "+
			"could not be found for this model version. Please specify the 'format' query parameter.", format)
	}
	return at, entry{}, err
}

// Condition selects the content that a write may replace or remove, by the fields
// If-Match and If-None-Match of RFC 9110 section 13.1. The zero Condition is always
// met.
type Condition struct {
	// Match lists ETags without quotation marks, one of which the content must
	// have; "*" means any content.
	Match []string
	// NoneMatch lists ETags that the content must not have; "*" means that
	// there must be no content.
	NoneMatch []string
}

// met reports whether the condition holds for the entry at index i; a negative index
// means no content.
func (c Condition) met(entries []entry, i int) bool {
	has := func(tags []string) bool {
		return i >= 0 && (slices.Contains(tags, "*") || slices.Contains(tags, entries[i].SHA256))
	}
	return (len(c.Match) == 0 || has(c.Match)) && !has(c.NoneMatch)
}

const unmet = "The content in format '%s' is not the one that the request's conditions name."

// DeleteContent removes the content of a version in a format. The default format stays
// as it is. The error matches [ErrInvalid] for an invalid format tag or the tag
// [Latest], [ErrNotFound] if there is no such content, [ErrPrecondition] if the
// condition is not met, or [ErrImmutable].
func (s *Store) DeleteContent(ctx context.Context, at Path, format string, condition Condition) error {
	const op = "delete content"
	if err := refuseLatest(op, at); err != nil {
		return err
	}
	if err := checkFormat(op, at, format); err != nil {
		return err
	}
	err, freed := errAbsent, s.contents.usage.reservation(at)
	if at.valid(3) {
		remove := func(n *node) error {
			if err := n.refuseImmutable(op, at); err != nil {
				return err
			}
			i := n.entryAt(format)
			switch {
			case i < 0:
				return refuse(op, at, ErrNotFound, "Could not find file with format '%s' in model version '%s'.",
					format, at)
			case !condition.met(n.Formats, i):
				return refuse(op, at, ErrPrecondition, unmet, format)
			}
			if err := freed.reserve(ctx, op, at, -n.Formats[i].Size); err != nil {
				return err
			}
			n.Formats = slices.Delete(n.Formats, i, i+1)
			return nil
		}
		gone := contentEvent(ContentDelete, at, contentBody{Format: format})
		err = s.hooks.Record(ctx, func() error { _, err := s.tree.edit(ctx, at, remove); return err }, gone)
	}
	switch {
	case errors.Is(err, errAbsent):
		return s.tree.unlessAlias(ctx, op, at, notFound(op, at))
	case err != nil:
		return failed(op, at, err)
	}
	freed.commit()
	return nil
}

func checkFormat(op string, at Path, format string) error {
	switch {
	case format == "":
		return refuse(op, at, ErrInvalid, "Format must be given explicitly with the 'format' query parameter.")
	case !validFormat(format):
		return refuse(op, at, ErrInvalid, "Invalid format string. The 'format' parameter must match regex: '%s'.",
			formatRule)
	}
	return nil
}
