package apimgmt

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Transition is what becomes of a version.
type Transition struct {
	// State is the new state. The package documentation says what leads where.
	State State
	// Sunset is when a deprecated version is going to end, and Link where more is
	// told; both are for the header fields of answers, and may be zero. They are
	// forgotten when the version is not deprecated any more, except that a sunset
	// version keeps them.
	Sunset time.Time
	Link   string
	// By is who decides it, for the log.
	By string
	// Condition is what has to hold of the record.
	Condition Condition
}

// SetState brings a version into another state, or leaves it in its own. If it
// begins to be routed, other versions of the enabler that have a route in common
// with it end; the error wraps ErrConflict if another enabler has one.
func (p *Publisher) SetState(ctx context.Context, enabler, version string, t Transition) (Record, error) {
	const op = "set the state of"
	if t.Link != "" && !validLink(t.Link) {
		return Record{}, invalid(op, clip(enabler), fmt.Errorf("link: expected http://… or https://…"))
	}
	if t.State != Deprecated && (t.Link != "" || !t.Sunset.IsZero()) {
		return Record{}, invalid(op, clip(enabler), fmt.Errorf("sunset and link are for the state %s", Deprecated))
	}
	var superseded []string
	err := p.change(ctx, op, clip(enabler), func(ctx context.Context, at *snapshot) (*decision, error) {
		key, before, e, err := at.version(op, enabler, version)
		if err != nil {
			return nil, err
		}
		if err := t.Condition.check(op, before.Enabler, before, true); err != nil {
			return nil, err
		}
		if !e.State.allows(t.State) {
			return nil, &Error{Op: op, Key: before.Enabler, Kind: ErrState, Text: fmt.Sprintf("version %q is %s and cannot become %s", e.Version, e.State, t.State)}
		}
		made := &plan{}
		made.key, made.after = key, before.clone()
		now := time.Now().UTC().Truncate(time.Millisecond)
		made.after.Updated = now
		next := made.after.find(version)
		next.enter(t, now)
		next.Serial = at.catalogue.Serial + 1
		if next.Sunset != nil && next.Deprecated != nil && next.Sunset.Before(*next.Deprecated) {
			return nil, invalid(op, before.Enabler, fmt.Errorf("sunset: %s is before the deprecation, %s", next.Sunset.Format(time.RFC3339), next.Deprecated.Format(time.RFC3339)))
		}
		if err := p.arrange(ctx, at, made, version, nil); err != nil {
			return nil, err
		}
		if len(made.conflicts) > 0 {
			return nil, inTheWay(op, before.Enabler, next.ListenPath, made.conflicts)
		}
		made.routing = e.State.Routed() || t.State.Routed()
		superseded = made.superseded
		return &made.decision, nil
	})
	if err != nil {
		return Record{}, err
	}
	p.log.Info("state set", "enabler", enabler, "version", version, "state", t.State, "by", t.By, "superseded", superseded)
	return p.answer(ctx, keyOf(enabler), superseded)
}

// enter brings the edition into a state.
func (e *edition) enter(t Transition, now time.Time) {
	switch {
	case t.State == Deprecated:
		if e.State != Deprecated || e.Deprecated == nil {
			e.Deprecated = &now
		}
		e.Link = t.Link
		e.Sunset = nil
		if !t.Sunset.IsZero() {
			at := t.Sunset.UTC().Truncate(time.Second)
			e.Sunset = &at
		}
	case t.State != Sunset:
		e.Deprecated, e.Sunset, e.Link = nil, nil, ""
	}
	e.State, e.Updated = t.State, now
}

// version finds a version of an enabler.
func (s *snapshot) version(op, enabler, version string) (string, record, edition, error) {
	key, r, err := s.get(op, enabler)
	if err != nil {
		return key, r, edition{}, err
	}
	e := r.find(version)
	if e == nil {
		return key, r, edition{}, notFound(op, r.Enabler, fmt.Sprintf("there is no version %q", clip(version)))
	}
	return key, r, *e, nil
}

// Describe changes the description of an enabler.
func (p *Publisher) Describe(ctx context.Context, enabler, description, by string, condition Condition) (Record, error) {
	const op = "describe"
	if err := checkDescription(description); err != nil {
		return Record{}, invalid(op, clip(enabler), err)
	}
	err := p.change(ctx, op, clip(enabler), func(_ context.Context, at *snapshot) (*decision, error) {
		key, before, err := at.get(op, enabler)
		if err != nil {
			return nil, err
		}
		if err := condition.check(op, before.Enabler, before, true); err != nil {
			return nil, err
		}
		after := before.clone()
		after.Description, after.Updated = description, time.Now().UTC().Truncate(time.Millisecond)
		return &decision{key: key, after: after}, nil
	})
	if err != nil {
		return Record{}, err
	}
	p.log.Info("described", "enabler", enabler, "by", by)
	return p.answer(ctx, keyOf(enabler), nil)
}

// Delete withdraws an enabler and deletes all its versions.
func (p *Publisher) Delete(ctx context.Context, enabler, by string, condition Condition) error {
	const op = "delete"
	err := p.change(ctx, op, clip(enabler), func(_ context.Context, at *snapshot) (*decision, error) {
		key, before, err := at.get(op, enabler)
		if err != nil {
			return nil, err
		}
		if err := condition.check(op, before.Enabler, before, true); err != nil {
			return nil, err
		}
		return removal(key, before), nil
	})
	if err == nil {
		p.log.Info("deleted", "enabler", enabler, "by", by)
	}
	return err
}

// removal ends an enabler.
func removal(key string, before record) *decision {
	now := time.Now().UTC()
	made := &decision{key: key, after: record{Enabler: before.Enabler, Removed: &now}, routing: len(before.routed()) > 0}
	for _, e := range before.Versions {
		made.stale = append(made.stale, e.Upload)
	}
	return made
}

// DeleteVersion withdraws and deletes one version; with the last one the enabler
// goes.
func (p *Publisher) DeleteVersion(ctx context.Context, enabler, version, by string, condition Condition) error {
	const op = "delete a version of"
	err := p.change(ctx, op, clip(enabler), func(ctx context.Context, at *snapshot) (*decision, error) {
		key, before, e, err := at.version(op, enabler, version)
		if err != nil {
			return nil, err
		}
		if err := condition.check(op, before.Enabler, before, true); err != nil {
			return nil, err
		}
		if len(before.Versions) == 1 {
			return removal(key, before), nil
		}
		after := before.clone()
		after.Updated = time.Now().UTC().Truncate(time.Millisecond)
		after.Versions = slices.DeleteFunc(after.Versions, func(other edition) bool { return other.Version == version })
		config, err := p.serve(ctx, after)
		if err != nil {
			return nil, err
		}
		return &decision{key: key, after: after, routing: e.State.Routed(), config: config, stale: []string{e.Upload}}, nil
	})
	if err == nil {
		p.log.Info("version deleted", "enabler", enabler, "version", version, "by", by)
	}
	return err
}
