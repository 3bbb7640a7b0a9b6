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
	w, _ := e.wish()
	data, err := encodeRecord(w, m.sealer)
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
	e.noteStored(w, revision)
	return nil
}

// store changes a channel in storage and then here. When another service has
// changed the channel meanwhile, the change is applied to what that one
// stored, so that neither is lost. A channel that was removed meanwhile, and
// perhaps created anew, is storage.ErrNotFound. The entry's turn is held.
func (m *Manager) store(ctx context.Context, e *entry, change func(*wish)) error {
	w, revision := e.wish()
	const attempts = 10
	for attempt := 1; ; attempt++ {
		change(&w)
		next, err := m.updateDocument(ctx, e.id, revision, w)
		if err == nil {
			e.noteStored(w, next)
			return nil
		}
		if !errors.Is(err, storage.ErrConflict) || attempt == attempts {
			return fmt.Errorf("store channel %q: %w", e.id, err)
		}
		if w, revision, err = m.readDocument(ctx, e); err != nil {
			return fmt.Errorf("store channel %q: %w", e.id, err)
		}
	}
}

// readDocument reads what is stored of a channel now.
func (m *Manager) readDocument(ctx context.Context, e *entry) (wish, storage.Revision, error) {
	document, err := m.config.Documents.Get(ctx, channelPrefix+e.id)
	if err != nil {
		return wish{}, 0, err
	}
	b := decodeBookkeeping(document.Data)
	if ours, _ := e.wish(); b.Incarnation != ours.Incarnation || b.Removing {
		return wish{}, 0, storage.ErrNotFound
	}
	w, err := decodeRecord(document.Data, m.sealer)
	return w, document.Revision, err
}

func (m *Manager) updateDocument(ctx context.Context, id string, prev storage.Revision, w wish) (storage.Revision, error) {
	if m.config.Documents == nil {
		return 0, nil
	}
	data, err := encodeRecord(w, m.sealer)
	if err != nil {
		return 0, err
	}
	return m.config.Documents.Update(ctx, channelPrefix+id, prev, data)
}

// deleteDocument removes a channel from storage, whatever its revision is by
// now. One that is already gone, or was created anew, is removed.
func (m *Manager) deleteDocument(ctx context.Context, e *entry) error {
	return m.replaceDocument(ctx, e, "remove", func(key string, prev storage.Revision, _ []byte) error {
		return m.config.Documents.Delete(ctx, key, prev)
	})
}

// markDocument marks a channel in storage as deleted.
func (m *Manager) markDocument(ctx context.Context, e *entry) error {
	return m.replaceDocument(ctx, e, "remove", func(key string, prev storage.Revision, data []byte) error {
		if decodeBookkeeping(data).Removing {
			return nil
		}
		data, err := markRemoving(data)
		if err != nil {
			return err
		}
		_, err = m.config.Documents.Update(ctx, key, prev, data)
		return err
	})
}

// replaceDocument reads the document of a channel and does something with it,
// until nothing comes in between.
func (m *Manager) replaceDocument(ctx context.Context, e *entry, verb string, do func(string, storage.Revision, []byte) error) error {
	if m.config.Documents == nil {
		return nil
	}
	ours, _ := e.wish()
	key := channelPrefix + e.id
	const attempts = 10
	for attempt := 1; ; attempt++ {
		document, err := m.config.Documents.Get(ctx, key)
		if err == nil && decodeBookkeeping(document.Data).Incarnation != ours.Incarnation {
			return nil
		}
		if err == nil {
			err = do(key, document.Revision, document.Data)
		}
		switch {
		case err == nil || errors.Is(err, storage.ErrNotFound):
			return nil
		case !errors.Is(err, storage.ErrConflict) || attempt == attempts:
			return fmt.Errorf("%s channel %q: %w", verb, e.id, err)
		}
	}
}
