package storage

import (
	"bytes"
	"context"
	"strings"
	"sync"
)

// MemoryDocuments is a [Documents] in memory. It is created with
// [NewMemoryDocuments] and is safe for concurrent use. Creating and deleting
// take time linear in the number of keys (a copy of 16 bytes a key), all else
// is logarithmic or better.
type MemoryDocuments struct {
	mu     sync.RWMutex
	last   Revision
	sorted keyList
	states map[string]documentState
}

// documentState is a stored document. Its bytes never change.
type documentState struct {
	revision Revision
	data     []byte
}

// NewMemoryDocuments returns an empty store.
func NewMemoryDocuments() *MemoryDocuments {
	return &MemoryDocuments{states: make(map[string]documentState)}
}

// Get implements [Documents].
func (m *MemoryDocuments) Get(ctx context.Context, key string) (Document, error) {
	const verb = "get document"
	if err := admit(ctx, key); err != nil {
		return Document{}, failed(verb, key, err)
	}
	m.mu.RLock()
	state, found := m.states[key]
	m.mu.RUnlock()
	if !found {
		return Document{}, failed(verb, key, ErrNotFound)
	}
	return state.document(key), nil
}

// Create implements [Documents].
func (m *MemoryDocuments) Create(ctx context.Context, key string, data []byte) (Revision, error) {
	const verb = "create document"
	if err := admitData(ctx, key, data); err != nil {
		return 0, failed(verb, key, err)
	}
	data = bytes.Clone(data)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, taken := m.states[key]; taken {
		return 0, failed(verb, key, ErrExists)
	}
	m.sorted.insert(key)
	return m.put(key, data), nil
}

// Update implements [Documents].
func (m *MemoryDocuments) Update(ctx context.Context, key string, prev Revision, data []byte) (Revision, error) {
	const verb = "update document"
	if err := admitData(ctx, key, data); err != nil {
		return 0, failed(verb, key, err)
	}
	data = bytes.Clone(data)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.at(key, prev); err != nil {
		return 0, failed(verb, key, err)
	}
	return m.put(key, data), nil
}

// Delete implements [Documents].
func (m *MemoryDocuments) Delete(ctx context.Context, key string, prev Revision) error {
	const verb = "delete document"
	if err := admit(ctx, key); err != nil {
		return failed(verb, key, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.at(key, prev); err != nil {
		return failed(verb, key, err)
	}
	m.sorted.remove(key)
	delete(m.states, key)
	return nil
}

// List implements [Documents].
func (m *MemoryDocuments) List(ctx context.Context, prefix, after string, limit int) ([]Document, error) {
	const verb = "list documents"
	if err := admitListing(ctx, prefix, after); err != nil {
		return nil, failed(verb, prefix, err)
	}
	if limit <= 0 {
		limit = DefaultPage
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var page []Document
	for _, key := range m.sorted.from(prefix, after) {
		if len(page) == limit || !strings.HasPrefix(key, prefix) {
			break
		}
		page = append(page, m.states[key].document(key))
	}
	return page, nil
}

// at returns an error if the document is not at the revision.
func (m *MemoryDocuments) at(key string, revision Revision) error {
	switch state, found := m.states[key]; {
	case !found:
		return ErrNotFound
	case state.revision != revision:
		return ErrConflict
	}
	return nil
}

// put stores data, which it keeps, with the next revision of the store.
func (m *MemoryDocuments) put(key string, data []byte) Revision {
	m.last++
	m.states[key] = documentState{revision: m.last, data: data}
	return m.last
}

func (s documentState) document(key string) Document {
	return Document{Key: key, Revision: s.revision, Data: bytes.Clone(s.data)}
}

// admit returns an error if a call must not begin: an ended context or an
// invalid key.
func admit(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return ValidKey(key)
}

func admitData(ctx context.Context, key string, data []byte) error {
	if err := admit(ctx, key); err != nil {
		return err
	}
	return ValidData(data)
}

func admitListing(ctx context.Context, texts ...string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return checkListing(texts...)
}
