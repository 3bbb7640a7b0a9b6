package apimgmt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/storage"
)

// Recover finishes what a process that died has begun, makes the gateway serve
// what the catalogue says, and deletes what nothing refers to. It may be called at
// any time, and Run calls it at its beginning. It returns nil if gateway and
// catalogue agree.
func (p *Publisher) Recover(ctx context.Context) error {
	release, err := take(ctx, p.turn)
	if err != nil {
		return fmt.Errorf("apimgmt: recover: %w", err)
	}
	defer release()
	if err := p.settle(ctx, 0); err != nil {
		return fmt.Errorf("apimgmt: recover: %w", err)
	}
	if err := p.reconcile(ctx); err != nil {
		return fmt.Errorf("apimgmt: recover: %w", err)
	}
	if err := p.sweep(ctx); err != nil {
		return fmt.Errorf("apimgmt: recover: %w", err)
	}
	return nil
}

// Run recovers, and then makes the gateway serve what the catalogue says, whoever
// changes the one or the other, until the context ends; it then returns nil. What
// fails is logged and tried again.
func (p *Publisher) Run(ctx context.Context) error {
	ticker := time.NewTicker(p.config.Interval)
	defer ticker.Stop()
	var seen storage.Revision
	var recovered, reconciled time.Time
	for {
		at, err := p.load(ctx)
		now := time.Now()
		switch {
		case err != nil:
		case recovered.IsZero() || now.Sub(recovered) >= p.config.Grace:
			if err = p.Recover(ctx); err == nil {
				recovered, reconciled = now, now
			}
		case at.revision != seen || len(at.Doubtful) > 0 || now.Sub(reconciled) >= p.config.Reconcile:
			if err = p.Reconcile(ctx); err == nil {
				reconciled = now
			}
		}
		if err == nil {
			seen = at.revision
		} else if ctx.Err() == nil {
			p.log.Error("the gateway could not be compared with the catalogue", "error", err, "again", p.config.Interval)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Reconcile makes the gateway serve what the catalogue says. It returns nil if they
// agree.
func (p *Publisher) Reconcile(ctx context.Context) error {
	release, err := take(ctx, p.turn)
	if err != nil {
		return fmt.Errorf("apimgmt: reconcile: %w", err)
	}
	defer release()
	if err := p.settle(ctx, p.config.Patience); err != nil {
		return fmt.Errorf("apimgmt: reconcile: %w", err)
	}
	if err := p.reconcile(ctx); err != nil {
		return fmt.Errorf("apimgmt: reconcile: %w", err)
	}
	return nil
}

// reconcile compares enabler by enabler. What the gateway serves is read first: an
// enabler that is in it is in the catalogue read afterwards, or its change is.
func (p *Publisher) reconcile(ctx context.Context) error {
	served, err := p.gateway.Config(ctx)
	if err != nil {
		return fmt.Errorf("read what the gateway serves: %w", err)
	}
	at, err := p.snapshot(ctx)
	if err != nil {
		return err
	}
	keys, owned := slices.Clone(at.keys), byOwner(served)
	for _, key := range slices.Sorted(maps.Keys(owned)) {
		if _, ok := at.records[key]; !ok {
			keys = append(keys, key)
		}
	}
	var faults []error
	for _, key := range keys {
		if at.catalogue.Intent != nil && at.catalogue.Intent.Key == key {
			continue
		}
		want, err := p.serve(ctx, at.records[key])
		if err == nil && !slices.Contains(at.catalogue.Doubtful, key) && agree(owned[key], ownerOf(key), want) {
			continue
		}
		if err == nil || p.outdated(ctx, at.catalogue, err) {
			err = p.heal(ctx, key)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("enabler %q: %w", key, err))
			continue
		}
		p.totals.healed.Add(1)
		p.log.Info("the gateway was told anew what is published", "enabler", key)
	}
	return errors.Join(faults...)
}

// byOwner is what a gateway serves of each enabler, by key, without times. It shares
// memory with c.
func byOwner(c entity.Config) map[string]entity.Config {
	owned := map[string]entity.Config{}
	assign(owned, c.Services, func(e *entity.Service) *entity.Meta { return &e.Meta }, func(c *entity.Config) *[]entity.Service { return &c.Services })
	assign(owned, c.Routes, func(e *entity.Route) *entity.Meta { return &e.Meta }, func(c *entity.Config) *[]entity.Route { return &c.Routes })
	assign(owned, c.Plugins, func(e *entity.Plugin) *entity.Meta { return &e.Meta }, func(c *entity.Config) *[]entity.Plugin { return &c.Plugins })
	assign(owned, c.Consumers, func(e *entity.Consumer) *entity.Meta { return &e.Meta }, func(c *entity.Config) *[]entity.Consumer { return &c.Consumers })
	assign(owned, c.Keys, func(e *entity.Key) *entity.Meta { return &e.Meta }, func(c *entity.Config) *[]entity.Key { return &c.Keys })
	assign(owned, c.Upstreams, func(e *entity.Upstream) *entity.Meta { return &e.Meta }, func(c *entity.Config) *[]entity.Upstream { return &c.Upstreams })
	assign(owned, c.Targets, func(e *entity.Target) *entity.Meta { return &e.Meta }, func(c *entity.Config) *[]entity.Target { return &c.Targets })
	return owned
}

// assign gives each entity of a list to those whose tags it has.
func assign[E any](owned map[string]entity.Config, list []E, meta func(*E) *entity.Meta, of func(*entity.Config) *[]E) {
	for _, e := range list {
		m := meta(&e)
		m.CreatedAt, m.UpdatedAt = 0, 0
		for n, tag := range m.Tags {
			key, ok := strings.CutPrefix(tag, ownerPrefix)
			if !ok || slices.Index(m.Tags, tag) < n {
				continue
			}
			c := owned[key]
			*of(&c) = append(*of(&c), e)
			owned[key] = c
		}
	}
}

// agree reports whether a gateway serves of an owner what it should.
func agree(served entity.Config, owner string, want entity.Config) bool {
	tagged, err := entity.Normal{}.Replace(owner, want)
	if err != nil {
		return false
	}
	is, err := tagged.With(served)
	if err != nil {
		return false
	}
	changes, err := is.Diff(tagged)
	return err == nil && len(changes) == 0
}

// heal tells the gateway what an enabler has published, until that is what the
// catalogue said before and after.
func (p *Publisher) heal(ctx context.Context, key string) error {
	for {
		c, err := p.load(ctx)
		if err != nil {
			return err
		}
		var r record
		doc, err := p.docs.Get(ctx, recordPrefix+key)
		switch {
		case errors.Is(err, storage.ErrNotFound):
		case err != nil:
			return fmt.Errorf("read record %q: %w", key, err)
		default:
			if err := json.Unmarshal(doc.Data, &r); err != nil {
				return fmt.Errorf("read record %q: %w", key, err)
			}
		}
		config, err := p.serve(ctx, r)
		if p.outdated(ctx, c, err) {
			continue
		}
		if err != nil {
			return err
		}
		if err := p.tell(ctx, key, config); err != nil {
			return fmt.Errorf("tell the gateway: %w", err)
		}
		if slices.Contains(c.Doubtful, key) {
			_, err = p.save(ctx, c.doubt(key, false))
		} else {
			var again catalogue
			if again, err = p.load(ctx); err == nil && again.revision != c.revision {
				err = storage.ErrConflict
			}
		}
		if !errors.Is(err, storage.ErrConflict) {
			return err
		}
	}
}

// sweep deletes blobs that nothing refers to and traces of enablers that were
// deleted, both when they are older than the grace.
func (p *Publisher) sweep(ctx context.Context) error {
	before := time.Now().Add(-p.config.Grace)
	var old []string
	for _, prefix := range blobPrefixes() {
		for info, err := range p.blobs.List(ctx, prefix) {
			if err != nil {
				return fmt.Errorf("list blobs: %w", err)
			}
			if info.Modified.Before(before) {
				old = append(old, strings.TrimPrefix(info.Key, prefix))
			}
		}
	}
	// The records are read after the blobs: what is old and not in them is in none.
	used := map[string]bool{}
	use := func(r record) {
		for _, e := range r.Versions {
			used[e.Upload] = true
		}
	}
	c, err := p.load(ctx)
	if err != nil {
		return err
	}
	if c.Intent != nil {
		use(c.Intent.After)
	}
	for doc, err := range storage.All(ctx, p.docs, recordPrefix) {
		if err != nil {
			return fmt.Errorf("read the records: %w", err)
		}
		var r record
		if err := json.Unmarshal(doc.Data, &r); err != nil {
			return fmt.Errorf("read record %q: %w", doc.Key, err)
		}
		use(r)
		if r.Removed != nil && r.Removed.Before(before) {
			if err := p.docs.Delete(ctx, doc.Key, doc.Revision); err != nil && !errors.Is(err, storage.ErrConflict) && !errors.Is(err, storage.ErrNotFound) {
				return fmt.Errorf("delete record %q: %w", doc.Key, err)
			}
		}
	}
	slices.Sort(old)
	p.discard(ctx, slices.DeleteFunc(slices.Compact(old), func(upload string) bool { return used[upload] }))
	return nil
}
