package apimgmt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/lease"
)

// Recover commits or rolls back a change that a process has left pending, makes the
// gateway serve the desired state of the catalogue, and deletes what no record refers to.
// It may be called at any time, and Run calls it at its beginning. It returns nil if
// gateway and catalogue are in sync.
func (p *Publisher) Recover(ctx context.Context) error {
	return p.reconcile(ctx, "recover", 0, p.sweep)
}

// Reconcile makes the gateway serve the desired state of the catalogue. It returns nil if
// they are in sync.
func (p *Publisher) Reconcile(ctx context.Context) error {
	return p.reconcile(ctx, "reconcile", p.config.Patience, func(context.Context) error { return nil })
}

// reconcile resolves a pending change after patience, compares the gateway with the
// catalogue, and runs last, all in the publisher's turn.
func (p *Publisher) reconcile(ctx context.Context, op string, patience time.Duration, last func(context.Context) error) error {
	release, err := acquire(ctx, p.changes.turn)
	if err != nil {
		return fmt.Errorf("apimgmt: %s: %w", op, err)
	}
	defer release()
	if err := p.changes.resolvePending(ctx, patience); err != nil {
		return fmt.Errorf("apimgmt: %s: %w", op, err)
	}
	if err := p.syncGateway(ctx); err != nil {
		return fmt.Errorf("apimgmt: %s: %w", op, err)
	}
	if err := last(ctx); err != nil {
		return fmt.Errorf("apimgmt: %s: %w", op, err)
	}
	return nil
}

// Run recovers, and then reconciles the gateway with the catalogue whenever one of the
// two changes, until the context ends; it then returns nil. What fails is logged and tried
// again.
func (p *Publisher) Run(ctx context.Context) error {
	ticker := time.NewTicker(p.config.Interval)
	defer ticker.Stop()
	var seen storage.Revision
	var recovered, reconciled time.Time
	for {
		h, err := p.catalogue.loadHead(ctx)
		now := time.Now()
		switch {
		case err != nil:
		case recovered.IsZero() || now.Sub(recovered) >= p.config.Grace:
			if err = p.Recover(ctx); err == nil {
				recovered, reconciled = now, now
			}
		case h.revision != seen || len(h.Unconfirmed) > 0 || now.Sub(reconciled) >= p.config.Reconcile:
			if err = p.Reconcile(ctx); err == nil {
				reconciled = now
			}
		}
		if err == nil {
			seen = h.revision
		} else if ctx.Err() == nil {
			p.log.Error("reconcile the gateway with the catalogue", "error", err, "again", p.config.Interval)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// syncGateway compares the gateway with the catalogue, enabler by enabler, and repairs
// what differs. What the gateway serves is read first: an enabler that is in it is in the
// catalogue read afterwards, or its change is pending.
func (p *Publisher) syncGateway(ctx context.Context) error {
	served, err := p.config.Gateway.Config(ctx)
	if err != nil {
		return fmt.Errorf("read what the gateway serves: %w", err)
	}
	current, err := p.catalogue.snapshot(ctx)
	if err != nil {
		return err
	}
	keys, owned := slices.Clone(current.keys), byOwner(served)
	for _, key := range slices.Concat(slices.Sorted(maps.Keys(owned)), current.head.Unconfirmed) {
		if _, ok := current.records[key]; !ok && !slices.Contains(keys[len(current.keys):], key) {
			keys = append(keys, key)
		}
	}
	var faults []error
	for _, key := range keys {
		if pending := current.head.Pending; pending != nil && pending.Key == key {
			continue
		}
		desired, err := p.routing.desired(ctx, current.records[key])
		if err == nil && !slices.Contains(current.head.Unconfirmed, key) && inSync(owned[key], ownerTag(key), desired) {
			continue
		}
		if err == nil || p.catalogue.readStale(ctx, current.head, err) {
			err = p.changes.repair(ctx, key)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("enabler %q: %w", key, err))
			continue
		}
		p.totals.healed.Add(1)
		p.log.Info("gateway repaired", "enabler", key)
	}
	return errors.Join(faults...)
}

// byOwner is what a gateway serves of each enabler, by key, without times. It uses the
// memory of c.
func byOwner(c entity.Config) map[string]entity.Config {
	owned := map[string]entity.Config{}
	type config = entity.Config
	assign(owned, c.Services, func(e *entity.Service) *entity.Meta { return &e.Meta },
		func(c *config) *[]entity.Service { return &c.Services })
	assign(owned, c.Routes, func(e *entity.Route) *entity.Meta { return &e.Meta },
		func(c *config) *[]entity.Route { return &c.Routes })
	assign(owned, c.Plugins, func(e *entity.Plugin) *entity.Meta { return &e.Meta },
		func(c *config) *[]entity.Plugin { return &c.Plugins })
	assign(owned, c.Consumers, func(e *entity.Consumer) *entity.Meta { return &e.Meta },
		func(c *config) *[]entity.Consumer { return &c.Consumers })
	assign(owned, c.Keys, func(e *entity.Key) *entity.Meta { return &e.Meta },
		func(c *config) *[]entity.Key { return &c.Keys })
	assign(owned, c.Upstreams, func(e *entity.Upstream) *entity.Meta { return &e.Meta },
		func(c *config) *[]entity.Upstream { return &c.Upstreams })
	assign(owned, c.Targets, func(e *entity.Target) *entity.Meta { return &e.Meta },
		func(c *config) *[]entity.Target { return &c.Targets })
	return owned
}

// assign adds each entity of a list to the configurations of the enablers that its tags
// name.
func assign[E any](
	owned map[string]entity.Config, list []E, meta func(*E) *entity.Meta, of func(*entity.Config) *[]E,
) {
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

// inSync reports whether what a gateway serves of an owner is the desired configuration.
func inSync(served entity.Config, owner string, desired entity.Config) bool {
	tagged, err := entity.Normal{}.Replace(owner, desired)
	if err != nil {
		return false
	}
	current, err := tagged.With(served)
	if err != nil {
		return false
	}
	diff, err := current.Diff(tagged)
	return err == nil && len(diff) == 0
}

// sweep deletes blobs that no record refers to, and records of deleted enablers that this process has
// seen for the grace period. It compares no stored time with a clock, and is safe beside changes and sweeps
// of other processes. The caller has the turn.
func (p *Publisher) sweep(ctx context.Context) error {
	unused, err := p.files.uploads(ctx)
	if err != nil {
		return err
	}
	h, err := p.catalogue.loadHead(ctx)
	if err != nil || h.Pending != nil { // the next sweep comes when that is over
		return err
	}
	err = p.removed.Look(func(unchanged lease.Unchanged) error { return p.sweepRecords(ctx, unused, unchanged) })
	if err != nil {
		return err
	}
	if len(unused) == 0 {
		return nil
	}
	// A change writes its blobs after it has read the head, and begins while the head has the same
	// revision. With a new revision, none begins whose blobs are among the unused ones.
	if _, err := p.catalogue.saveHead(ctx, h); err != nil {
		if errors.Is(err, storage.ErrConflict) {
			return nil // the next sweep
		}
		return err
	}
	p.files.discard(ctx, slices.Sorted(maps.Keys(unused)))
	return nil
}

// sweepRecords removes the blobs that records refer to from the unused ones, and deletes the records
// of enablers that were deleted long ago.
func (p *Publisher) sweepRecords(ctx context.Context, unused map[string]bool, unchanged lease.Unchanged) error {
	for doc, err := range storage.All(ctx, p.config.Documents, recordPrefix) {
		if err != nil {
			return fmt.Errorf("read the records: %w", err)
		}
		r, err := decodeRecord(doc)
		if err != nil {
			return err
		}
		for _, e := range r.Versions {
			delete(unused, e.Upload)
		}
		if r.Removed == nil || unchanged(doc.Key, doc.Revision) < p.config.Grace {
			continue
		}
		err = p.config.Documents.Delete(ctx, doc.Key, doc.Revision)
		if err != nil && !errors.Is(err, storage.ErrConflict) && !errors.Is(err, storage.ErrNotFound) {
			return fmt.Errorf("delete record %q: %w", doc.Key, err)
		}
	}
	return nil
}
