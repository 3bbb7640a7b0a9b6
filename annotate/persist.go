package annotate

import (
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/storage"
)

// createDocument stores a new channel.
func (m *Manager) createDocument(ctx context.Context, e *entry) error {
	if m.config.Documents == nil {
		return nil
	}
	data, err := encodeRecord(e.config, m.sealer)
	if err != nil {
		return err
	}
	revision, err := m.config.Documents.Create(ctx, channelPrefix+e.id, data)
	if errors.Is(err, storage.ErrExists) {
		return fmt.Errorf("create channel %q: %w", e.id, ErrChannelExists)
	}
	if err != nil {
		return fmt.Errorf("create channel %q: %w", e.id, err)
	}
	e.mu.Lock()
	e.revision = revision
	e.mu.Unlock()
	return nil
}

// store changes the status of a channel in storage and then here. When another
// service has changed the channel meanwhile, the change is applied to what
// that one stored, so that neither is lost. The entry's turn is held.
func (m *Manager) store(ctx context.Context, e *entry, change func(*Status)) error {
	e.mu.Lock()
	config, revision := e.config.clone(), e.revision
	e.mu.Unlock()
	const attempts = 10
	for attempt := 1; ; attempt++ {
		change(&config.Status)
		next, err := m.updateDocument(ctx, e.id, revision, config)
		if err == nil {
			e.mu.Lock()
			e.config, e.revision = config, next
			e.mu.Unlock()
			return nil
		}
		if !errors.Is(err, storage.ErrConflict) || attempt == attempts {
			return fmt.Errorf("store channel %q: %w", e.id, err)
		}
		document, err := m.config.Documents.Get(ctx, channelPrefix+e.id)
		if err != nil {
			return fmt.Errorf("store channel %q: %w", e.id, err)
		}
		theirs, err := decodeRecord(document.Data, m.sealer)
		if err != nil {
			return fmt.Errorf("store channel %q: %w", e.id, err)
		}
		config.Status, revision = theirs.Status, document.Revision
	}
}

func (m *Manager) updateDocument(ctx context.Context, id string, prev storage.Revision, config ChannelConfig) (storage.Revision, error) {
	if m.config.Documents == nil {
		return 0, nil
	}
	data, err := encodeRecord(config, m.sealer)
	if err != nil {
		return 0, err
	}
	return m.config.Documents.Update(ctx, channelPrefix+id, prev, data)
}

// deleteDocument removes a channel from storage, whatever its revision is by
// now. One that is already gone is removed.
func (m *Manager) deleteDocument(ctx context.Context, e *entry) error {
	if m.config.Documents == nil {
		return nil
	}
	e.mu.Lock()
	revision := e.revision
	e.mu.Unlock()
	key := channelPrefix + e.id
	const attempts = 10
	for attempt := 1; ; attempt++ {
		err := m.config.Documents.Delete(ctx, key, revision)
		if err == nil || errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		if !errors.Is(err, storage.ErrConflict) || attempt == attempts {
			return fmt.Errorf("remove channel %q: %w", e.id, err)
		}
		document, err := m.config.Documents.Get(ctx, key)
		if errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("remove channel %q: %w", e.id, err)
		}
		revision = document.Revision
	}
}
