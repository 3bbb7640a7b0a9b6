package manager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager/internal/channelform"
	"github.com/iotenablers/enablers/annotate/manager/internal/fleet"
	"github.com/iotenablers/enablers/storage"
)

// records keeps the channels of a service in storage. Without documents, in
// standalone mode, it keeps nothing.
type records struct {
	documents storage.Documents
	forms     channelform.Forms
	sealer    sealer
	env       annotate.Environment
	log       *slog.Logger
	fleet     *fleet.Fleet // nil when the storage is not shared
}

// load reads the stored channels, and makes those stopped that are to come back
// so. All of them are listed before the first one is started; a channel that
// can no longer be created is listed as stopped, with the reason.
func (r *records) load(ctx context.Context, channels *registry, stopped bool) error {
	if r.documents == nil {
		return nil
	}
	for document, err := range storage.All(ctx, r.documents, channelPrefix) {
		if err != nil {
			return err
		}
		e := r.restore(document)
		e.loaded = e.revision
		if stopped && e.wanted() {
			if err := r.change(ctx, e, func(w *record) { w.Stopped = true }); err != nil {
				return err
			}
		}
		channels.add(e)
	}
	return nil
}

// restore returns the entry of a stored channel.
func (r *records) restore(document storage.Document) *entry {
	e := newEntry(strings.TrimPrefix(document.Key, channelPrefix), r.fleet)
	e.listed = true
	e.used = true
	e.revision = document.Revision
	w, err := decode(document.Data, r.forms, r.sealer)
	if err == nil && w.ID != e.id {
		err = fmt.Errorf("it is stored with the identifier %q", w.ID)
	}
	if err == nil {
		w.ChannelConfig.ChannelConfig = r.env.Complete(w.ChannelConfig.ChannelConfig)
		w.ChannelConfig = r.complete(w.ChannelConfig)
		e.channel, err = annotate.NewChannel(w.ChannelConfig.ChannelConfig, r.env)
	}
	if err != nil {
		w.bookkeeping = decodeBookkeeping(document.Data)
	}
	w.ID = e.id
	e.config = w
	e.restarts = w.Restarts
	e.edits = w.Edits
	e.fault = w.Fault
	if err != nil {
		e.fault = fmt.Sprintf("restore channel %q: %v", e.id, err)
		r.log.Error("channel not restored", "channel", e.id, "error", err)
	}
	return e
}

// complete fills in the spare settings of a channel that is otherwise complete.
func (r *records) complete(c ChannelConfig) ChannelConfig {
	form := c.Form()
	r.forms.Complete(&form)
	return newChannelConfig(form)
}

// create stores a new channel.
func (r *records) create(ctx context.Context, e *entry) error {
	if r.documents == nil {
		return nil
	}
	w, _ := e.stored()
	data, err := w.encode(r.forms, r.sealer)
	if err != nil {
		return err
	}
	revision, err := r.documents.Create(ctx, channelPrefix+e.id, data)
	if errors.Is(err, storage.ErrExists) {
		return fmt.Errorf("create channel %q: %w", e.id, ErrChannelExists)
	}
	if err != nil {
		return fmt.Errorf("create channel %q: %w", e.id, err)
	}
	e.noteStored(w, revision)
	return nil
}

// change changes a channel in storage and then here. When another instance has
// changed the channel meanwhile, the change is applied to what that one
// stored, so that neither is lost. A channel that was removed meanwhile, and
// perhaps created anew, is storage.ErrNotFound. The entry's turn is held.
func (r *records) change(ctx context.Context, e *entry, apply func(*record)) error {
	w, _ := e.stored()
	if r.documents == nil {
		apply(&w)
		e.noteStored(w, 0)
		return nil
	}
	document, err := storage.Change(ctx, r.documents, channelPrefix+e.id, func(found storage.Document) ([]byte, error) {
		var err error
		var revision storage.Revision
		if w, revision = e.stored(); found.Revision != revision {
			if w, err = r.decode(found, e); err != nil {
				return nil, err
			}
		}
		apply(&w)
		return w.encode(r.forms, r.sealer)
	})
	if err != nil {
		return fmt.Errorf("store channel %q: %w", e.id, err)
	}
	e.noteStored(w, document.Revision)
	return nil
}

// decode decodes what is stored of a channel. The error is storage.ErrNotFound for one that was removed.
func (r *records) decode(document storage.Document, e *entry) (record, error) {
	if !isCurrent(document, e) || decodeBookkeeping(document.Data).Removing {
		return record{}, storage.ErrNotFound
	}
	return decode(document.Data, r.forms, r.sealer)
}

// isCurrent reports whether a document is that of the channel, which may have been removed and created anew.
func isCurrent(document storage.Document, e *entry) bool {
	ours, _ := e.stored()
	return document.Revision != 0 && decodeBookkeeping(document.Data).Incarnation == ours.Incarnation
}

func (r *records) update(ctx context.Context, id string, prev storage.Revision, w record) (storage.Revision, error) {
	if r.documents == nil {
		return 0, nil
	}
	data, err := w.encode(r.forms, r.sealer)
	if err != nil {
		return 0, err
	}
	return r.documents.Update(ctx, channelPrefix+id, prev, data)
}

// remove removes a channel from storage, whatever its revision is by
// now. One that is already gone, or was created anew, is removed.
func (r *records) remove(ctx context.Context, e *entry) error {
	if r.documents == nil {
		return nil
	}
	err := storage.Remove(ctx, r.documents, channelPrefix+e.id, func(found storage.Document) (remove bool, err error) {
		return isCurrent(found, e), nil
	})
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("remove channel %q: %w", e.id, err)
	}
	return nil
}

// mark marks a channel in storage as deleted.
func (r *records) mark(ctx context.Context, e *entry) error {
	if r.documents == nil {
		return nil
	}
	_, err := storage.Change(ctx, r.documents, channelPrefix+e.id, func(found storage.Document) ([]byte, error) {
		if !isCurrent(found, e) || decodeBookkeeping(found.Data).Removing {
			return nil, nil
		}
		return markRemoving(found.Data)
	})
	if err != nil {
		return fmt.Errorf("remove channel %q: %w", e.id, err)
	}
	return nil
}
