package annotate

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

	"github.com/iotenablers/enablers/storage"
)

// AddAnnotation stores a mapping for later use and returns its identifier: 24
// hexadecimal digits that begin with the time, so that identifiers sort by
// age. It returns ErrStandalone when there is no storage, and a [*FieldError]
// for what is no mapping.
func (m *Manager) AddAnnotation(ctx context.Context, mapping Mapping) (string, error) {
	if m.config.Documents == nil {
		return "", ErrStandalone
	}
	if err := mapping.Check(); err != nil {
		return "", withoutPrefix(err, "metadata.mapping.")
	}
	data, err := json.Marshal(mapping)
	if err != nil {
		return "", err
	}
	id := newAnnotationID()
	if _, err := m.config.Documents.Create(ctx, annotationPrefix+id, data); err != nil {
		return "", fmt.Errorf("add annotation: %w", err)
	}
	return id, nil
}

// Annotation returns a stored mapping, or ErrAnnotationNotFound.
func (m *Manager) Annotation(ctx context.Context, id string) (Mapping, error) {
	mapping, _, err := m.annotation(ctx, id)
	return mapping, err
}

// Annotations returns all stored mappings by identifier.
func (m *Manager) Annotations(ctx context.Context) (map[string]Mapping, error) {
	if m.config.Documents == nil {
		return nil, ErrStandalone
	}
	mappings := map[string]Mapping{}
	for after := ""; ; {
		page, err := m.config.Documents.List(ctx, annotationPrefix, after, 0)
		if err != nil {
			return nil, fmt.Errorf("list annotations: %w", err)
		}
		if len(page) == 0 {
			return mappings, nil
		}
		for _, document := range page {
			var mapping Mapping
			id := strings.TrimPrefix(document.Key, annotationPrefix)
			if err := json.Unmarshal(document.Data, &mapping); err != nil {
				return nil, fmt.Errorf("read annotation %q: %w", id, err)
			}
			mappings[id] = mapping
		}
		after = page[len(page)-1].Key
	}
}

// RemoveAnnotation removes a stored mapping, or returns ErrAnnotationNotFound.
// Channels that were made from it are not concerned: they have their own copy.
func (m *Manager) RemoveAnnotation(ctx context.Context, id string) error {
	_, revision, err := m.annotation(ctx, id)
	if err != nil {
		return err
	}
	// Annotations are never changed, so that a conflict can only mean that it
	// was removed at the same time.
	err = m.config.Documents.Delete(ctx, annotationPrefix+id, revision)
	if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrConflict) {
		err = ErrAnnotationNotFound
	}
	if err != nil {
		return fmt.Errorf("remove annotation %q: %w", id, err)
	}
	return nil
}

func (m *Manager) annotation(ctx context.Context, id string) (mapping Mapping, revision storage.Revision, err error) {
	if m.config.Documents == nil {
		return mapping, 0, ErrStandalone
	}
	document, err := m.config.Documents.Get(ctx, annotationPrefix+id)
	if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrInvalidKey) {
		err = ErrAnnotationNotFound
	}
	if err == nil {
		err = json.Unmarshal(document.Data, &mapping)
	}
	if err != nil {
		return mapping, 0, fmt.Errorf("read annotation %q: %w", id, err)
	}
	return mapping, document.Revision, nil
}

// newAnnotationID has the form of a MongoDB ObjectId: 4 bytes of time, then 8
// of chance.
func newAnnotationID() string {
	var id [12]byte
	_, _ = rand.Read(id[4:]) // never fails, by its documentation
	binary.BigEndian.PutUint32(id[:4], uint32(time.Now().Unix()))
	return hex.EncodeToString(id[:])
}

// withoutPrefix names a field relative to the mapping.
func withoutPrefix(err error, prefix string) error {
	var field *FieldError
	if errors.As(err, &field) {
		return &FieldError{strings.TrimPrefix(field.Field, prefix), field.Reason}
	}
	return err
}
