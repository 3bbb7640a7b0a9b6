package apimgmt

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Transition brings a version into another state.
type Transition struct {
	// State is the new state; [State.Next] lists those that are allowed.
	State State
	// Sunset is the time at which a deprecated version is going to end, and Link the address of a page
	// about that. Both are for the header fields of answers, and may be zero. A version
	// that becomes published again loses them; a sunset version keeps them.
	Sunset time.Time
	Link   string
	// By is the user that requests the change, for the log.
	By string
	// Condition is a condition on the stored record.
	Condition Condition
}

// SetState brings a version into another state, or leaves it in its own. If it
// begins to be routed, other versions of the enabler that have a route in common
// with it become sunset; the error wraps ErrConflict if another enabler has one, or if the
// gateway would lose what others have attached to a version ([entity.ErrAttached]).
func (p *Publisher) SetState(ctx context.Context, enabler, version string, t Transition) (Record, error) {
	const op = "set the state of"
	if err := t.check(); err != nil {
		return Record{}, invalid(op, clip(enabler), "", err)
	}
	var made *change
	err := p.apply(ctx, op, clip(enabler), func(ctx context.Context, current *snapshot) (*change, error) {
		key, before, e, err := current.version(op, enabler, version)
		if err != nil {
			return nil, err
		}
		if err := t.Condition.check(op, before.Enabler, before, true); err != nil {
			return nil, err
		}
		if !e.State.allows(t.State) {
			return nil, &Error{Op: op, Key: before.Enabler, Kind: ErrState,
				Text: fmt.Sprintf("version %q is %s and cannot become %s", e.Version, e.State, t.State)}
		}
		c := &change{key: key, desired: before.clone(), routing: e.State.Routed() || t.State.Routed()}
		now := time.Now().UTC().Truncate(time.Millisecond)
		c.desired.Updated = now
		next := c.desired.find(version)
		next.enter(t, now)
		next.Serial = current.head.Serial + 1
		if err := next.checkSunset(); err != nil {
			return nil, invalid(op, before.Enabler, "sunset", err)
		}
		if err := p.routing.prepare(ctx, current, c, version, nil); err != nil {
			return nil, err
		}
		if len(c.conflicts) > 0 {
			return nil, conflicting(op, before.Enabler, next.ListenPath, c.conflicts)
		}
		made = c
		return c, nil
	})
	if err != nil {
		return Record{}, err
	}
	p.log.Info("state set", "enabler", enabler, "version", version, "state", t.State, "by", t.By, "superseded", made.superseded,
		"carried", made.carried())
	return p.answer(ctx, enablerKey(enabler), made)
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
		e.Deprecated = nil
		e.Sunset = nil
		e.Link = ""
	}
	e.State, e.Updated = t.State, now
}

// Describe changes the description of an enabler.
func (p *Publisher) Describe(ctx context.Context, enabler, description, by string, condition Condition) (Record, error) {
	const op = "describe"
	if err := checkDescription(description); err != nil {
		return Record{}, invalid(op, clip(enabler), "description", err)
	}
	err := p.apply(ctx, op, clip(enabler), func(_ context.Context, current *snapshot) (*change, error) {
		key, before, err := current.get(op, enabler)
		if err != nil {
			return nil, err
		}
		if err := condition.check(op, before.Enabler, before, true); err != nil {
			return nil, err
		}
		desired := before.clone()
		desired.Description, desired.Updated = description, time.Now().UTC().Truncate(time.Millisecond)
		return &change{key: key, desired: desired}, nil
	})
	if err != nil {
		return Record{}, err
	}
	p.log.Info("described", "enabler", enabler, "by", by)
	return p.answer(ctx, enablerKey(enabler), &change{})
}

// Delete withdraws an enabler and deletes all its versions. It is refused as in
// [Publisher.SetState] while others have attached something to it in the gateway.
func (p *Publisher) Delete(ctx context.Context, enabler, by string, condition Condition) error {
	const op = "delete"
	err := p.apply(ctx, op, clip(enabler), func(ctx context.Context, current *snapshot) (*change, error) {
		key, before, err := current.get(op, enabler)
		if err != nil {
			return nil, err
		}
		if err := condition.check(op, before.Enabler, before, true); err != nil {
			return nil, err
		}
		c := removal(key, before)
		_, err = p.routing.served(ctx, op, c)
		return c, err
	})
	if err == nil {
		p.log.Info("deleted", "enabler", enabler, "by", by)
	}
	return err
}

// removal prepares the deletion of an enabler.
func removal(key string, before record) *change {
	now := time.Now().UTC()
	c := &change{key: key, desired: record{Enabler: before.Enabler, Removed: &now}, routing: len(before.routed()) > 0}
	for _, e := range before.Versions {
		c.stale = append(c.stale, e.Upload)
	}
	return c
}

// DeleteVersion withdraws and deletes one version. An enabler is deleted with its last
// version. It is refused as in [Publisher.SetState] while others have attached something to
// the version in the gateway.
func (p *Publisher) DeleteVersion(ctx context.Context, enabler, version, by string, condition Condition) error {
	const op = "delete a version of"
	err := p.apply(ctx, op, clip(enabler), func(ctx context.Context, current *snapshot) (*change, error) {
		key, before, e, err := current.version(op, enabler, version)
		if err != nil {
			return nil, err
		}
		if err := condition.check(op, before.Enabler, before, true); err != nil {
			return nil, err
		}
		if len(before.Versions) == 1 {
			c := removal(key, before)
			_, err = p.routing.served(ctx, op, c)
			return c, err
		}
		desired := before.clone()
		desired.Updated = time.Now().UTC().Truncate(time.Millisecond)
		desired.Versions = slices.DeleteFunc(desired.Versions, func(other edition) bool { return other.Version == version })
		config, err := p.routing.desired(ctx, desired)
		if err != nil {
			return nil, err
		}
		c := &change{key: key, desired: desired, routing: e.State.Routed(), config: config, stale: []string{e.Upload}}
		_, err = p.routing.served(ctx, op, c)
		return c, err
	})
	if err == nil {
		p.log.Info("version deleted", "enabler", enabler, "version", version, "by", by)
	}
	return err
}
