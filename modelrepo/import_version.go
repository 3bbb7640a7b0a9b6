package modelrepo

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/iotenablers/enablers/modelrepo/internal/archive"
	"github.com/iotenablers/enablers/modelrepo/internal/cleanup"
	"github.com/iotenablers/enablers/modelrepo/internal/webhook"
	"github.com/iotenablers/enablers/storage"
)

// Complete implements [archive.Target].
func (i *importer) Complete(ctx context.Context, r archive.Record) error {
	created, err := i.parents(ctx, r)
	if err != nil {
		return err
	}
	at := recordPath(r)
	if at.depth() < 3 {
		if created {
			i.result.Created++
		} else {
			i.result.Identical++
		}
		i.report(at)
		return nil
	}
	return storage.Retry(ctx, func() (again bool, err error) {
		err = i.record(ctx, r, true, i.create)
		if errors.Is(err, storage.ErrExists) {
			var done bool
			if done, err = i.present(ctx, r); done {
				return false, err
			}
			if err == nil {
				err = i.record(ctx, r, false, i.replace)
			}
		}
		if errors.Is(err, errAbsent) { // the version or one of its parents was deleted meanwhile
			_, err = i.parents(ctx, r)
			return err == nil, err
		}
		if err != nil {
			return false, failed("import", at, err)
		}
		i.report(at)
		return false, nil
	})
}

// record runs an operation on a version and records its events.
func (i *importer) record(
	ctx context.Context, r archive.Record, created bool, operation func(context.Context, archive.Record) error,
) error {
	at := recordPath(r)
	var events []*webhook.Event
	if created {
		events = append(events, newEvent(ModelVersionCreate, at))
	}
	for _, l := range r.Layers {
		info := i.staged[l.Digest()]
		file := File{Size: info.Size, MD5: info.MD5, SHA256: info.SHA256, ContentType: l.ContentType}
		events = append(events, contentEvent(ContentUpload, at, contentBody{Format: l.Format, File: &file}))
	}
	return i.contents.hooks.Record(ctx, func() error { return operation(ctx, r) }, events...)
}

// parents creates the namespace and the model of a version if they are missing. It
// reports whether it created the model.
func (i *importer) parents(ctx context.Context, r archive.Record) (created bool, err error) {
	if err := i.ensureNamespace(ctx, Path{Namespace: r.Namespace}); err != nil {
		return false, err
	}
	model := Path{Namespace: r.Namespace, Model: r.Model}
	err = i.store.CreateModel(ctx, model, ModelUpdate{LatestVersion: r.LatestVersion})
	if errors.Is(err, ErrExists) {
		return false, i.setLatest(ctx, r)
	}
	return err == nil, err
}

// tickets returns the tickets that protect the content of a version until it is
// complete.
func (i *importer) tickets(r archive.Record) []ticket {
	tickets := make([]ticket, 0, len(r.Layers))
	for _, l := range r.Layers {
		info := i.staged[l.Digest()]
		tickets = append(tickets, ticket{ID: newID(), Blob: info.Key, SHA256: info.SHA256, Renewed: time.Now().UTC()})
	}
	return tickets
}

// create adds the version with all of its content. While the version is pending, it
// has tickets in place of the formats.
func (i *importer) create(ctx context.Context, r archive.Record) error {
	at, tickets := recordPath(r), i.tickets(r)
	n := node{DefaultFormat: r.DefaultFormat}
	metadata, _ := recordMetadata(r) // checked before
	if err := i.tree.describe("import", at, &n, metadata); err != nil {
		return err
	}
	grows := i.contents.usage.reservation(at)
	err := i.tree.addWith(ctx, "import", at, n, tickets, func(n *node) error {
		formats, err := i.share(ctx, r, tickets)
		if err != nil {
			return err
		}
		n.Formats = formats
		return grows.reserve(ctx, "import", at, n.size())
	})
	if err != nil {
		grows.release()
		return err
	}
	grows.commit()
	i.result.Created++
	i.contents.stats.uploads.Add(uint64(len(r.Layers)))
	return nil
}

// replace puts the content into a version that is there, in one step.
func (i *importer) replace(ctx context.Context, r archive.Record) error {
	at, tickets := recordPath(r), i.tickets(r)
	_, err := i.tree.edit(ctx, at, func(n *node) error {
		n.Uploads = append(n.Uploads, tickets...)
		return n.refuseImmutable("import", at)
	})
	if err != nil {
		return err
	}
	grows := i.contents.usage.reservation(at)
	formats, err := i.share(ctx, r, tickets)
	if err == nil {
		err = i.replaceFormats(ctx, r, tickets, formats, grows)
	}
	if err != nil {
		grows.release()
		ctx, cancel := cleanup.Context(ctx)
		defer cancel()
		// Tickets that remain are removed by Repair.
		_, _ = i.tree.edit(ctx, at, func(n *node) error { n.withdraw(tickets); return nil })
		return err
	}
	grows.commit()
	i.result.Overwritten++
	i.contents.stats.uploads.Add(uint64(len(r.Layers)))
	return nil
}

// replaceFormats replaces the tickets and the content of a version by new entries.
func (i *importer) replaceFormats(
	ctx context.Context, r archive.Record, tickets []ticket, formats []entry, grows *reservation,
) error {
	at := recordPath(r)
	metadata, _ := recordMetadata(r) // checked before
	_, err := i.tree.edit(ctx, at, func(n *node) error {
		for _, t := range tickets {
			if n.ticketAt(t.ID) < 0 {
				return expired(at)
			}
		}
		if err := n.refuseImmutable("import", at); err != nil {
			return err
		}
		n.withdraw(tickets)
		before := n.size()
		n.Formats, n.DefaultFormat, n.Metadata = formats, r.DefaultFormat, nil
		if err := i.tree.describe("import", at, n, metadata); err != nil {
			return err
		}
		return grows.reserve(ctx, "import", at, n.size()-before)
	})
	return err
}

// withdraw removes tickets.
func (n *node) withdraw(tickets []ticket) {
	n.Uploads = slices.DeleteFunc(n.Uploads, func(t ticket) bool {
		return slices.ContainsFunc(tickets, func(other ticket) bool { return other.ID == t.ID })
	})
}

func expired(at Path) error {
	return refuse("import", at, ErrExpired,
		"The import did not move for too long and was given up. Please import again.")
}

// share enters the staged content under its digests, while the tickets are in the
// version, and returns the version's entries.
func (i *importer) share(ctx context.Context, r archive.Record, tickets []ticket) ([]entry, error) {
	at, formats := recordPath(r), make([]entry, 0, len(r.Layers))
	for k, l := range r.Layers {
		t, info := tickets[k], i.staged[l.Digest()]
		// Content that was staged for the grace period may be condemned.
		if usable, err := i.contents.collector.usable(ctx, t.Blob); err != nil || !usable {
			if err == nil {
				err = expired(at)
			}
			return nil, err
		}
		before := i.kept[t.Blob]
		i.kept[t.Blob] = true // the digest's document may name it from here on
		u := upload{contents: i.contents, op: "import", at: at, format: l.Format, ticket: t}
		blob, err := u.share(ctx, info)
		if err != nil {
			return nil, err
		}
		if blob != t.Blob && !before {
			delete(i.kept, t.Blob)
		}
		formats = append(formats, entry{
			Format: l.Format, Blob: blob, SHA256: l.SHA256, MD5: info.MD5, Size: info.Size,
			ContentType: l.ContentType, Uploaded: time.Now().UTC(),
		})
	}
	return formats, nil
}
