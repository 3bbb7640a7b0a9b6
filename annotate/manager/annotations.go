package manager

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager/internal/channelform"
	"github.com/iotenablers/enablers/storage"
)

// Errors of Annotations.
var (
	// ErrAnnotationNotFound is returned for an identifier that no annotation
	// has.
	ErrAnnotationNotFound = errors.New("annotate: annotation not found")
	// ErrStandalone is returned where there is no storage.
	ErrStandalone = errors.New("annotate: no storage in standalone mode")
)

// Annotations are the mappings that a service stores for later use, see
// [Manager.Annotations]. All methods are safe for concurrent use.
type Annotations struct {
	documents storage.Documents // nil in standalone mode
}

// Add stores a mapping for later use and returns its identifier: 24
// hexadecimal digits that begin with the time, so that identifiers sort by
// age. It returns ErrStandalone when there is no storage, and a [*annotate.FieldError]
// for an invalid mapping.
func (a *Annotations) Add(ctx context.Context, mapping annotate.Mapping) (string, error) {
	if a.documents == nil {
		return "", ErrStandalone
	}
	if err := mapping.Check(); err != nil {
		return "", withoutPrefix(err, "metadata.mapping.")
	}
	data, err := json.Marshal(channelform.MappingOf(mapping, true))
	if err != nil {
		return "", err
	}
	id := newAnnotationID()
	if _, err := a.documents.Create(ctx, annotationPrefix+id, data); err != nil {
		return "", fmt.Errorf("add annotation: %w", err)
	}
	return id, nil
}

// Get returns a stored mapping, or ErrAnnotationNotFound.
func (a *Annotations) Get(ctx context.Context, id string) (annotate.Mapping, error) {
	mapping, _, err := a.read(ctx, id)
	return mapping, err
}

// List returns all stored mappings by identifier.
func (a *Annotations) List(ctx context.Context) (map[string]annotate.Mapping, error) {
	if a.documents == nil {
		return nil, ErrStandalone
	}
	mappings := map[string]annotate.Mapping{}
	for after := ""; ; {
		page, err := a.documents.List(ctx, annotationPrefix, after, 0)
		if err != nil {
			return nil, fmt.Errorf("list annotations: %w", err)
		}
		if len(page) == 0 {
			return mappings, nil
		}
		for _, document := range page {
			id := strings.TrimPrefix(document.Key, annotationPrefix)
			mapping, err := channelform.DecodeMapping(document.Data)
			if err != nil {
				return nil, fmt.Errorf("read annotation %q: %w", id, err)
			}
			mappings[id] = mapping
		}
		after = page[len(page)-1].Key
	}
}

// StoredAnnotation is a mapping that is stored.
type StoredAnnotation struct {
	ID      string
	Mapping annotate.Mapping
	// Err is why the mapping cannot be read.
	Err error
}

// Page returns the stored mappings whose identifiers follow after, limit at most, and whether
// there are more.
func (a *Annotations) Page(ctx context.Context, after string, limit int) (page []StoredAnnotation, more bool, err error) {
	if a.documents == nil {
		return nil, false, ErrStandalone
	}
	if after != "" {
		after = annotationPrefix + after
	}
	documents, err := a.documents.List(ctx, annotationPrefix, after, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("list annotations: %w", err)
	}
	for _, document := range documents[:min(len(documents), limit)] {
		mapping, err := channelform.DecodeMapping(document.Data)
		page = append(page, StoredAnnotation{ID: strings.TrimPrefix(document.Key, annotationPrefix), Mapping: mapping, Err: err})
	}
	return page, len(documents) > limit, nil
}

// Remove removes a stored mapping, or returns ErrAnnotationNotFound. Channels
// that were created from it have their own copy.
func (a *Annotations) Remove(ctx context.Context, id string) error {
	_, revision, err := a.read(ctx, id)
	if err != nil {
		return err
	}
	// Annotations are never changed, so that a conflict can only mean that it
	// was removed at the same time.
	err = a.documents.Delete(ctx, annotationPrefix+id, revision)
	if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrConflict) {
		err = ErrAnnotationNotFound
	}
	if err != nil {
		return fmt.Errorf("remove annotation %q: %w", id, err)
	}
	return nil
}

func (a *Annotations) read(
	ctx context.Context, id string) (mapping annotate.Mapping, revision storage.Revision, err error,
) {
	if a.documents == nil {
		return mapping, 0, ErrStandalone
	}
	document, err := a.documents.Get(ctx, annotationPrefix+id)
	if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrInvalidKey) {
		err = ErrAnnotationNotFound
	}
	if err == nil {
		mapping, err = channelform.DecodeMapping(document.Data)
	}
	if err != nil {
		return mapping, 0, fmt.Errorf("read annotation %q: %w", id, err)
	}
	return mapping, document.Revision, nil
}

// newAnnotationID returns an identifier in the form of a MongoDB ObjectId: 4 bytes of time,
// then 8 random bytes.
func newAnnotationID() string {
	var id [12]byte
	_, _ = rand.Read(id[4:]) // never fails, by its documentation
	binary.BigEndian.PutUint32(id[:4], uint32(time.Now().Unix()))
	return hex.EncodeToString(id[:])
}

// withoutPrefix names a field relative to the mapping.
func withoutPrefix(err error, prefix string) error {
	var field *annotate.FieldError
	if errors.As(err, &field) {
		return &annotate.FieldError{Field: strings.TrimPrefix(field.Field, prefix), Reason: field.Reason}
	}
	return err
}
