package entity

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Normal is a normalised configuration that does not change. Others that differ from
// it a little are made of it without looking at everything again: entities that both
// have are checked once, and are shared. The zero value is an empty configuration.
// Any number of goroutines may use it.
type Normal struct {
	config Config
}

// NewNormal normalises a configuration. It shares no memory with c, and errors are
// those of [Config.Normalize].
func NewNormal(c Config) (Normal, error) {
	made, err := c.Normalize()
	return Normal{made}, err
}

// Config returns a copy, which the caller may change.
func (n Normal) Config() Config { return n.config.Clone() }

// Shared returns the configuration itself: neither it nor what it leads to may be
// changed.
func (n Normal) Shared() Config { return n.config }

// With is NewNormal for a configuration derived from this one. What it has
// unchanged is not checked again by itself; what concerns several entities, such as
// references, and names that have to be unique, is.
func (n Normal) With(c Config) (Normal, error) {
	made, err := newNormalizer(c, &n.config).normalize()
	return Normal{made}, err
}

// Replace is [Config.Replace].
func (n Normal) Replace(tag string, next Config) (Normal, error) {
	made, _, err := n.ReplaceCarrying(tag, next)
	return made, err
}

// ReplaceCarrying is [Config.Replace], and lists what of others was carried over.
func (n Normal) ReplaceCarrying(tag string, next Config) (Normal, []Carried, error) {
	created := map[string]int64{}
	mine := n.config.pick(func(m *Meta) bool { return slices.Contains(m.Tags, tag) })
	for _, list := range mine.identities() {
		for _, e := range list {
			created[e.meta.ID] = e.meta.CreatedAt
		}
	}
	// It is normalised together with the others: the owner may have a plugin on
	// the service of another owner.
	added := next.Clone()
	for _, list := range added.identities() {
		for _, e := range list {
			if !slices.Contains(e.meta.Tags, tag) {
				e.meta.Tags = append(e.meta.Tags, tag)
			}
		}
	}
	others := n.config.pick(func(m *Meta) bool { return !slices.Contains(m.Tags, tag) })
	together := others.with(added)
	merged, err := n.With(together)
	if err != nil {
		return Normal{}, nil, fmt.Errorf("replace entities tagged %q: %w", tag, err)
	}
	var carried []Carried
	if attached := n.config.Attached(tag).Plugins; len(attached) > 0 || count(&together) != count(&others)+count(&added) {
		c := newCarrier(n.config, merged.config, tag)
		lost := others.lost(&merged.config)
		staying := missing(attached, lost.Plugins, func(e *Plugin) *Meta { return &e.Meta })
		if c.carry(lost, staying); len(c.faults) > 0 {
			return Normal{}, nil, fmt.Errorf("replace entities tagged %q: %w", tag, errors.Join(c.faults...))
		}
		if merged, err = merged.With(merged.config.with(c.made)); err != nil {
			return Normal{}, nil, fmt.Errorf("replace entities tagged %q: carry over what others have attached to them: %w", tag, err)
		}
		carried = c.carried
	}
	for _, list := range merged.config.identities() {
		for _, e := range list {
			if at, ok := created[e.meta.ID]; ok && at != 0 {
				e.meta.CreatedAt = at
			}
		}
	}
	return merged, carried, nil
}

// count is the number of entities of the kinds that refer to others.
func count(c *Config) int { return len(c.Routes) + len(c.Plugins) + len(c.Keys) + len(c.Targets) }

// Diff is [Diff] from this configuration to another one.
func (n Normal) Diff(to Normal) ([]Change, error) { return n.config.diff(&to.config) }

// Stamped returns the configuration with the times at which its entities were
// created and last changed: now for those of the changes, which lead to it from
// before, and those that before has for all others.
func (n Normal) Stamped(before Normal, changes []Change, now time.Time) Normal {
	type key struct {
		kind Kind
		id   string
	}
	changed := make(map[key]bool, len(changes))
	for _, change := range changes {
		changed[key{change.Kind, change.ID}] = true
	}
	times := map[key]Meta{}
	for _, list := range before.config.identities() {
		for _, e := range list {
			times[key{e.kind, e.meta.ID}] = *e.meta
		}
	}
	made := n.config.pick(func(*Meta) bool { return true })
	for _, list := range made.identities() {
		for _, e := range list {
			at := key{e.kind, e.meta.ID}
			old, known := times[at]
			if !known {
				old.CreatedAt = now.Unix()
			}
			e.meta.CreatedAt, e.meta.UpdatedAt = old.CreatedAt, old.UpdatedAt
			if !known || changed[at] {
				e.meta.UpdatedAt = now.Unix()
			}
		}
	}
	return Normal{made}
}

// pick returns the entities that keep selects, which share memory with those of c.
func (c Config) pick(keep func(*Meta) bool) Config {
	return Config{
		Services:  pickFrom(c.Services, func(e *Service) bool { return keep(&e.Meta) }),
		Routes:    pickFrom(c.Routes, func(e *Route) bool { return keep(&e.Meta) }),
		Plugins:   pickFrom(c.Plugins, func(e *Plugin) bool { return keep(&e.Meta) }),
		Consumers: pickFrom(c.Consumers, func(e *Consumer) bool { return keep(&e.Meta) }),
		Keys:      pickFrom(c.Keys, func(e *Key) bool { return keep(&e.Meta) }),
		Upstreams: pickFrom(c.Upstreams, func(e *Upstream) bool { return keep(&e.Meta) }),
		Targets:   pickFrom(c.Targets, func(e *Target) bool { return keep(&e.Meta) }),
	}
}

func pickFrom[E any](list []E, keep func(*E) bool) []E {
	if list == nil {
		return nil
	}
	made := make([]E, 0, len(list))
	for i := range list {
		if keep(&list[i]) {
			made = append(made, list[i])
		}
	}
	return made
}

// adopt copies a list. Of those entities that are as they were before it takes the
// old ones, which are known to be in order; it tells which these are.
func adopt[E any](list, before []E, meta func(*E) *Meta, clone func(E) E) (made []E, known []bool) {
	if list == nil {
		return nil, nil
	}
	old := make(map[string]*E, len(before))
	for i := range before {
		old[meta(&before[i]).ID] = &before[i]
	}
	made, known = make([]E, len(list)), make([]bool, len(list))
	for i := range list {
		was := old[meta(&list[i]).ID]
		if known[i] = was != nil && reflect.DeepEqual(was, &list[i]); known[i] {
			made[i] = *was
		} else {
			made[i] = clone(list[i])
		}
	}
	return made, known
}
