package modelrepo

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// maxMetadata is how many bytes of an upload's metadata are kept.
const maxMetadata = 4 << 10

// PartialOptions changes how an upload in pieces begins. The zero value is the
// default.
type PartialOptions struct {
	UploadOptions
	// Metadata is kept with the upload and returned with it, at most 4 KiB. It
	// has no other meaning.
	Metadata string
}

// Partial is an upload that comes in pieces.
type Partial struct {
	// ID names the upload. Whoever knows it may go on with it.
	ID string
	// Version and Format are where the content goes.
	Version Path
	Format  string
	// Length is the size of the whole content, and Offset how many of its bytes
	// are durable. When they are equal the content has been published.
	Length, Offset int64
	// Expires is when the upload is given up, unless it moves before, in UTC.
	Expires time.Time
	// Metadata is what the upload began with.
	Metadata string
	// Result says what the upload did; nil before the content was published.
	Result *Uploaded
}

// partial is the stored document of an upload in pieces.
type partial struct {
	Version   string         `json:"version"`
	VersionID string         `json:"versionID"` // of the node
	Format    string         `json:"format"`
	Length    int64          `json:"length"`
	Offset    int64          `json:"offset"`
	Parts     []part         `json:"parts,omitempty"`
	Options   partialOptions `json:"options"`
	Metadata  string         `json:"metadata,omitempty"`
	Expires   time.Time      `json:"expires"`
	Result    *Uploaded      `json:"result,omitempty"`
}

// partialOptions are UploadOptions as they are stored.
type partialOptions struct {
	ContentType string   `json:"contentType,omitempty"`
	Overwrite   bool     `json:"overwrite,omitempty"`
	Match       []string `json:"match,omitempty"`
	NoneMatch   []string `json:"noneMatch,omitempty"`
	MD5         []byte   `json:"md5,omitempty"`
	SHA256      []byte   `json:"sha256,omitempty"`
	SHA512      []byte   `json:"sha512,omitempty"`
}

// part is one piece that is durable.
type part struct {
	Key  string `json:"key"` // behind the upload's prefix
	Size int64  `json:"size"`
}

// heldPartial is a partial as it was read.
type heldPartial struct {
	partial
	id       string
	at       Path
	revision storage.Revision
}

// The first parts of keys, with the upload's identifier behind them.
const (
	partialPrefix = "upload/"
	partPrefix    = "part/"
)

var partialIDs = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func (p *heldPartial) public() Partial {
	return Partial{
		ID: p.id, Version: p.at, Format: p.Format, Length: p.Length, Offset: p.Offset,
		Expires: p.Expires, Metadata: p.Metadata, Result: p.Result,
	}
}

// upload is what publishes the content.
func (p *heldPartial) upload(s *Store) upload {
	o := p.Options
	return upload{store: s, op: "upload content", at: p.at, format: p.Format, partial: p.id, versionID: p.VersionID, options: UploadOptions{
		ContentType: o.ContentType, Overwrite: o.Overwrite,
		Condition: Condition{Match: o.Match, NoneMatch: o.NoneMatch},
		Digests:   Digests{MD5: o.MD5, SHA256: o.SHA256, SHA512: o.SHA512},
	}}
}

// blob is the key of a piece.
func (p *heldPartial) blob(piece part) string { return partPrefix + p.id + "/" + piece.Key }

// BeginUpload begins an upload whose content comes in pieces, length bytes in
// all: [Store.ContinueUpload] adds them. Whether the content may be written is
// found out now and again at the end. The upload and its pieces survive a
// restart, belong to all processes that share the storage, and are given up
// when they did not move for [Config].Grace. An upload of nothing is published
// at once. opts may be nil.
//
// The error matches what that of [Store.Upload] may match, and [ErrInvalid] for
// a negative length and for too long metadata.
func (s *Store) BeginUpload(ctx context.Context, at Path, format string, length int64, opts *PartialOptions) (Partial, error) {
	const op = "begin upload"
	if opts == nil {
		opts = &PartialOptions{}
	}
	if err := checkUpload(op, at, format, opts.ContentType); err != nil {
		return Partial{}, err
	}
	switch {
	case length < 0:
		return Partial{}, refuse(op, at, ErrInvalid, "The length of an upload cannot be negative.")
	case len(opts.Metadata) > maxMetadata:
		return Partial{}, refuse(op, at, ErrInvalid, "The metadata of an upload can have at most %d bytes.", maxMetadata)
	}
	p := heldPartial{id: newID(), at: at, partial: partial{
		Version: at.String(), Format: format, Length: length, Metadata: opts.Metadata, Expires: s.expiry(),
		Options: partialOptions{
			ContentType: orBytes(opts.ContentType), Overwrite: opts.Overwrite,
			Match: opts.Condition.Match, NoneMatch: opts.Condition.NoneMatch,
			MD5: opts.Digests.MD5, SHA256: opts.Digests.SHA256, SHA512: opts.Digests.SHA512,
		},
	}}
	u := p.upload(s)
	u.op, u.versionID = op, ""
	n, err := s.find(ctx, at, 3)
	if err == nil {
		err = u.allowed(&n)
	}
	if err == nil {
		u.replace(&n)
		err = u.fits(ctx, length)
	}
	switch {
	case errors.Is(err, errAbsent):
		return Partial{}, s.unlessAlias(ctx, op, at, missingVersion(op, at))
	case err != nil:
		return Partial{}, failed(op, at, err)
	}
	p.VersionID = n.ID
	if p.revision, err = s.docs.Create(ctx, partialPrefix+p.id, encode(p.partial)); err != nil {
		return Partial{}, failed(op, at, err)
	}
	if length == 0 {
		return s.publish(ctx, p, nil)
	}
	return p.public(), nil
}

// expiry is when an upload that moves now will be given up.
func (s *Store) expiry() time.Time { return time.Now().UTC().Add(s.config.Grace) }

// PartialUpload returns the state of an upload that comes in pieces, also for
// a while after its content was published. The error matches [ErrNotFound] if
// there is none, or none any more.
func (s *Store) PartialUpload(ctx context.Context, id string) (Partial, error) {
	p, err := s.loadPartial(ctx, "get upload", id)
	return p.public(), err
}

func (s *Store) loadPartial(ctx context.Context, op, id string) (heldPartial, error) {
	if !partialIDs.MatchString(id) {
		return heldPartial{}, missingPartial(op)
	}
	doc, err := s.docs.Get(ctx, partialPrefix+id)
	if errors.Is(err, storage.ErrNotFound) {
		return heldPartial{}, missingPartial(op)
	}
	if err != nil {
		return heldPartial{}, failed(op, Path{}, err)
	}
	stored, err := decode[partial](doc)
	if err != nil {
		return heldPartial{}, failed(op, Path{}, err)
	}
	if !time.Now().Before(stored.Expires) {
		return heldPartial{}, missingPartial(op)
	}
	at, err := ParsePath(stored.Version)
	if err != nil {
		return heldPartial{}, failed(op, Path{}, hide(err))
	}
	return heldPartial{stored, id, at, doc.Revision}, nil
}

func missingPartial(op string) error {
	return refuse(op, Path{}, ErrNotFound, "There is no such upload, or it did not move for too long and was given up.")
}

// CancelUpload gives an upload in pieces up and removes its pieces. Content
// that it has published stays. The error matches [ErrNotFound].
func (s *Store) CancelUpload(ctx context.Context, id string) error {
	const op = "cancel upload"
	for attempt := 0; ; attempt++ {
		p, err := s.loadPartial(ctx, op, id)
		if err != nil {
			return err
		}
		err = s.docs.Delete(ctx, partialPrefix+id, p.revision)
		if err == nil {
			s.removeParts(ctx, &p, p.Parts)
			return nil
		}
		if !moved(err) {
			return failed(op, p.at, err)
		}
		if err := pause(ctx, attempt); err != nil {
			return failed(op, p.at, err)
		}
	}
}

// removeParts deletes pieces that the upload's document does not name. What
// fails here is done by Repair.
func (s *Store) removeParts(ctx context.Context, p *heldPartial, parts []part) {
	ctx, cancel := lastly(ctx)
	defer cancel()
	for _, piece := range slices.Clone(parts) {
		if s.blobs.Delete(ctx, p.blob(piece)) != nil && ctx.Err() != nil {
			return
		}
	}
}
