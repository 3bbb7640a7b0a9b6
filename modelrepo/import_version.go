package modelrepo

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// bring makes a version visible, if all of its content is there.
func (i *importer) bring(a *arrival) error {
	if a.missing > 0 {
		return nil
	}
	created, err := i.parents(a.record)
	if err != nil {
		return err
	}
	if a.at.depth() < 3 {
		if created {
			i.result.Created++
		} else {
			i.result.Identical++
		}
		i.tell(a.at)
		return nil
	}
	for attempt := 0; ; attempt++ {
		err := i.told(a.record, true, i.create)
		if errors.Is(err, storage.ErrExists) {
			var done bool
			if done, err = i.present(a.record); done {
				return err
			}
			if err == nil {
				err = i.told(a.record, false, i.replace)
			}
		}
		switch {
		case err == nil:
			i.tell(a.at)
			return nil
		case !errors.Is(err, errAbsent):
			return failed("import", a.at, err)
		}
		// Deleted meanwhile, or what it is in was.
		if err := pause(i.ctx, attempt); err != nil {
			return err
		}
		if _, err := i.parents(a.record); err != nil {
			return err
		}
	}
}

// told does something to a version and has the webhooks told.
func (i *importer) told(r record, created bool, do func(record) error) error {
	var events []*event
	if created {
		events = append(events, &event{Action: ModelVersionCreate, At: r.at})
	}
	for _, e := range r.formats {
		info := i.staged["sha256:"+e.SHA256]
		file := File{Size: info.Size, MD5: info.MD5, SHA256: info.SHA256, ContentType: e.ContentType}
		events = append(events, &event{Action: ContentUpload, At: r.at, Format: e.Format, Body: contentBody{Format: e.Format, File: &file}})
	}
	return i.store.told(i.ctx, func() error { return do(r) }, events...)
}

// parents makes sure that what the version is in is there.
func (i *importer) parents(r record) (created bool, err error) {
	if err := i.store.ensure(i.ctx, Path{Namespace: r.at.Namespace}); err != nil {
		return false, err
	}
	model := Path{Namespace: r.at.Namespace, Model: r.at.Model}
	err = i.store.CreateModel(i.ctx, model, ModelUpdate{LatestVersion: r.latestVersion})
	if errors.Is(err, ErrExists) {
		return false, i.point(r)
	}
	return err == nil, err
}

// ensure makes a namespace if it is not there.
func (s *Store) ensure(ctx context.Context, at Path) error {
	if _, err := s.find(ctx, at, 1); !errors.Is(err, errAbsent) {
		return err
	}
	if err := s.CreateNamespace(ctx, at.Namespace); !errors.Is(err, ErrExists) {
		return err
	}
	return nil
}

// create adds the version with all of its content. While it is pending, it has
// the tickets of an upload in place of the formats.
func (i *importer) create(r record) error {
	tickets := i.tickets(r)
	n := node{DefaultFormat: r.defaultFormat, Formats: r.formats}
	if err := i.store.describe("import", r.at, &n, r.metadata); err != nil {
		return err
	}
	grows := i.store.changeOf(r.at)
	err := i.store.addWith(i.ctx, "import", r.at, n, tickets, func(n *node) error {
		formats, err := i.claim(r, tickets)
		if err != nil {
			return err
		}
		n.Formats = formats
		return grows.plan(i.ctx, i.store, "import", r.at, n.size())
	})
	if err != nil {
		grows.drop()
	} else {
		grows.done()
		i.result.Created++
		i.store.stats.uploads.Add(uint64(len(r.formats)))
	}
	return err
}

// replace puts the content into a version that is there, in one step.
func (i *importer) replace(r record) error {
	tickets := i.tickets(r)
	_, err := i.store.edit(i.ctx, r.at, func(n *node) error {
		n.Uploads = append(n.Uploads, tickets...)
		return n.refuseImmutable("import", r.at)
	})
	if err != nil {
		return err
	}
	grows := i.store.changeOf(r.at)
	formats, err := i.claim(r, tickets)
	if err == nil {
		_, err = i.store.edit(i.ctx, r.at, func(n *node) error {
			for _, t := range tickets {
				if n.ticketAt(t.ID) < 0 {
					return expired(r.at)
				}
			}
			if err := n.refuseImmutable("import", r.at); err != nil {
				return err
			}
			n.withdraw(tickets)
			before := n.size()
			n.Formats, n.DefaultFormat, n.Metadata = formats, r.defaultFormat, nil
			if err := i.store.describe("import", r.at, n, r.metadata); err != nil {
				return err
			}
			return grows.plan(i.ctx, i.store, "import", r.at, n.size()-before)
		})
	}
	if err != nil {
		grows.drop()
		ctx, cancel := lastly(i.ctx)
		defer cancel()
		// What fails here is done by Repair.
		_, _ = i.store.edit(ctx, r.at, func(n *node) error { n.withdraw(tickets); return nil })
		return err
	}
	grows.done()
	i.result.Overwritten++
	i.store.stats.uploads.Add(uint64(len(r.formats)))
	return nil
}

// withdraw takes tickets away.
func (n *node) withdraw(tickets []ticket) {
	n.Uploads = slices.DeleteFunc(n.Uploads, func(t ticket) bool {
		return slices.ContainsFunc(tickets, func(other ticket) bool { return other.ID == t.ID })
	})
}

func expired(at Path) error {
	return refuse("import", at, ErrExpired, "The import did not move for too long and was given up. Please import again.")
}

// claim makes the documents of the digests say where the content is, while the
// tickets are in the version, and returns the version's entries.
func (i *importer) claim(r record, tickets []ticket) ([]entry, error) {
	formats := slices.Clone(r.formats)
	for at, t := range tickets {
		info := i.staged["sha256:"+t.SHA256]
		// Content that lay about for the grace period may be on its way out.
		if usable, err := i.store.usable(i.ctx, t.Blob); err != nil || !usable {
			if err == nil {
				err = expired(r.at)
			}
			return nil, err
		}
		before := i.kept[t.Blob]
		i.kept[t.Blob] = true // the document may name it from here on
		u := upload{store: i.store, op: "import", at: r.at, format: formats[at].Format, ticket: t}
		blob, err := u.claim(i.ctx, info)
		if err != nil {
			return nil, err
		}
		if blob != t.Blob && !before {
			delete(i.kept, t.Blob)
		}
		e := &formats[at]
		e.Blob, e.Size, e.MD5, e.Uploaded = blob, info.Size, info.MD5, time.Now().UTC()
	}
	return formats, nil
}
