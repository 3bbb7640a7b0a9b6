package tus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/internal/keep"
	"github.com/iotenablers/enablers/modelrepo/internal/cleanup"
	"github.com/iotenablers/enablers/modelrepo/internal/transfer"
	"github.com/iotenablers/enablers/storage"
)

// The first parts of keys, with the upload's identifier behind them.
const (
	uploadPrefix = "upload/"
	// PiecePrefix is what the keys of pieces begin with.
	PiecePrefix = "part/"
)

// Upload is the state of a resumable upload. It is a stored format.
type Upload struct {
	// ID names the upload. Any client that has it may continue the upload.
	ID       string           `json:"-"`
	revision storage.Revision // at which the document was read
	unknown  keep.Members     // of the document

	Version   string    `json:"version"`   // the path of the model version
	VersionID string    `json:"versionID"` // the identifier of its node
	Format    string    `json:"format"`
	Length    int64     `json:"length"`
	Offset    int64     `json:"offset"`
	Pieces    []piece   `json:"parts,omitempty"`
	Options   Options   `json:"options"`
	Metadata  string    `json:"metadata,omitempty"`
	Expires   time.Time `json:"expires"`
	// Result is nil before the content was published.
	Result *Result `json:"result,omitempty"`
}

// Options are the options of the upload. They are a stored format.
type Options struct {
	// ContentType is the media type of the content.
	ContentType string `json:"contentType,omitempty"`
	// Overwrite allows to replace content.
	Overwrite bool `json:"overwrite,omitempty"`
	// Match and NoneMatch are the conditions on the content that is there.
	Match     []string `json:"match,omitempty"`
	NoneMatch []string `json:"noneMatch,omitempty"`
	// MD5, SHA256 and SHA512 are the announced digests.
	MD5    []byte `json:"md5,omitempty"`
	SHA256 []byte `json:"sha256,omitempty"`
	SHA512 []byte `json:"sha512,omitempty"`
}

// Result is what publishing the content did. It is a stored format.
type Result struct {
	Size        int64  `json:"size"`
	MD5         string `json:"md5"`
	SHA256      string `json:"sha256"`
	ContentType string `json:"contentType"`
	Overwrote   bool   // content that was there
	DefaultSet  bool   // the default format of the version
}

// piece is one durable part of the content.
type piece struct {
	Key  string `json:"key"` // behind the upload's prefix
	Size int64  `json:"size"`
}

// blob returns the key of a piece's bytes.
func (u *Upload) blob(p piece) string { return PiecePrefix + u.ID + "/" + p.Key }

// Why an upload does not continue.
var (
	// ErrNotFound is returned when there is no such upload, or it has expired.
	ErrNotFound = errors.New("tus: not found")
	// ErrTooLong is returned for bytes beyond the announced length.
	ErrTooLong = errors.New("tus: too long")
	// ErrChecksum is returned for bytes that do not have the announced checksum.
	ErrChecksum = errors.New("tus: checksum mismatch")
	// ErrAlgorithm is returned for a checksum of an unknown algorithm.
	ErrAlgorithm = errors.New("tus: unknown checksum algorithm")
	// ErrTooManyPieces is returned when an upload has [MaxPieces] already.
	ErrTooManyPieces = errors.New("tus: too many pieces")
)

// OffsetError is returned for a piece that does not begin at the upload's offset.
type OffsetError struct{ Offset int64 }

// Error names the offset.
func (e *OffsetError) Error() string { return fmt.Sprintf("tus: the upload is at offset %d", e.Offset) }

// IncompleteError is returned when the source of a piece failed.
type IncompleteError struct {
	Offset int64 // of the upload, with the bytes that were kept
	Cause  error
}

// Error returns the cause.
func (e *IncompleteError) Error() string { return "tus: read piece: " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *IncompleteError) Unwrap() error { return e.Cause }

// Config is what [Uploads] needs. All fields are required.
type Config struct {
	// Documents keeps the state of the uploads.
	Documents storage.Documents
	// Blobs keeps their pieces.
	Blobs storage.Blobs
	// Copier copies pieces into blobs.
	Copier *transfer.Copier
	// Publisher publishes complete uploads.
	Publisher Publisher
	// Grace is how long an upload is kept that receives nothing.
	Grace time.Duration
	// PieceBytes is how many bytes become durable at a time; a crash during a long
	// piece loses at most these.
	PieceBytes int64
}

// Uploads are the resumable uploads of a repository. Create it with [New]. It is safe
// for concurrent use, also by several processes over one storage.
type Uploads struct{ Config }

// New returns the uploads in a storage.
func New(config Config) *Uploads { return &Uploads{config} }

var ids = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// ValidID reports whether the text has the form of an upload's identifier.
func ValidID(id string) bool { return ids.MatchString(id) }

// expiry returns when an upload expires that receives bytes now.
func (s *Uploads) expiry() time.Time { return time.Now().UTC().Add(s.Grace) }

// Begin stores a new upload under a new identifier. An upload of length 0 is
// published at once.
func (s *Uploads) Begin(ctx context.Context, u Upload) (Upload, error) {
	u.ID, u.Expires = uuid.NewString(), s.expiry()
	data, err := json.Marshal(u)
	if err != nil {
		return u, err
	}
	if u.revision, err = s.Documents.Create(ctx, uploadPrefix+u.ID, data); err != nil {
		return u, err
	}
	if u.Length == 0 {
		return s.publish(ctx, u, nil)
	}
	return u, nil
}

// Get returns the state of an upload, also for a while after its content was
// published. The error matches [ErrNotFound].
func (s *Uploads) Get(ctx context.Context, id string) (Upload, error) {
	if !ValidID(id) {
		return Upload{}, ErrNotFound
	}
	doc, err := s.Documents.Get(ctx, uploadPrefix+id)
	if errors.Is(err, storage.ErrNotFound) {
		return Upload{}, ErrNotFound
	}
	if err != nil {
		return Upload{}, err
	}
	return decodeCurrent(doc)
}

// decodeCurrent decodes an upload. It returns ErrNotFound for one that has expired.
func decodeCurrent(doc storage.Document) (Upload, error) {
	u, err := decode(doc)
	if err != nil {
		return Upload{}, err
	}
	if !time.Now().Before(u.Expires) {
		return Upload{}, ErrNotFound
	}
	return u, nil
}

var uploadType = keep.TypeFor[Upload]()

func decode(doc storage.Document) (Upload, error) {
	u := Upload{ID: doc.Key[len(uploadPrefix):], revision: doc.Revision}
	var err error
	if u.unknown, err = uploadType.Unmarshal(doc.Data, &u); err != nil {
		return u, fmt.Errorf("read document %q: %w", doc.Key, err)
	}
	return u, nil
}

// update stores the state of an upload at the revision at which it was read.
func (s *Uploads) update(ctx context.Context, u Upload) (storage.Revision, error) {
	data, err := u.unknown.Marshal(u)
	if err != nil {
		return 0, err
	}
	return s.Documents.Update(ctx, uploadPrefix+u.ID, u.revision, data)
}

// Cancel removes an upload and its pieces. Content that it has published stays. The
// error matches [ErrNotFound].
func (s *Uploads) Cancel(ctx context.Context, id string) (u Upload, err error) {
	if !ValidID(id) {
		return u, ErrNotFound
	}
	err = storage.Remove(ctx, s.Documents, uploadPrefix+id, func(doc storage.Document) (remove bool, err error) {
		u, err = decodeCurrent(doc)
		return true, err
	})
	if errors.Is(err, storage.ErrNotFound) {
		err = ErrNotFound
	}
	if err != nil {
		return u, err
	}
	s.removePieces(ctx, &u, u.Pieces)
	return u, nil
}

// removePieces deletes pieces that the upload's document does not name. The repair of
// the repository deletes those that remain.
func (s *Uploads) removePieces(ctx context.Context, u *Upload, pieces []piece) {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	for _, p := range slices.Clone(pieces) {
		if s.Blobs.Delete(ctx, u.blob(p)) != nil && ctx.Err() != nil {
			return
		}
	}
}

// Expire deletes the uploads that have expired and returns how many of them were not
// published.
func (s *Uploads) Expire(ctx context.Context) (unfinished int, err error) {
	for doc, err := range storage.All(ctx, s.Documents, uploadPrefix) {
		if err != nil {
			return unfinished, err
		}
		u, err := decode(doc)
		if err != nil {
			return unfinished, err
		}
		if time.Now().Before(u.Expires) {
			continue
		}
		if err := s.Documents.Delete(ctx, doc.Key, doc.Revision); err != nil {
			if storage.Overtaken(err) {
				continue
			}
			return unfinished, err
		}
		if u.Result == nil {
			unfinished++
		}
	}
	return unfinished, nil
}

// NeedsPieces reports whether there is an upload with the identifier that is not yet
// published. No identifier is assigned twice.
func (s *Uploads) NeedsPieces(ctx context.Context, id string) (bool, error) {
	doc, err := s.Documents.Get(ctx, uploadPrefix+id)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	u, err := decode(doc)
	return u.Result == nil, err
}
