package entity

import (
	"fmt"
	"slices"
)

// Tagged returns the entities that have a tag, in the order that they had, not
// normalised: they may refer to others that are not among them.
func (c Config) Tagged(tag string) Config {
	return c.filter(func(m *Meta) bool { return slices.Contains(m.Tags, tag) })
}

// Without returns the configuration without the entities that have a tag, and
// without what refers to them: the routes of services, the plugins on anything,
// the keys of consumers, the targets of upstreams. It is normalised first, and
// what it returns is.
func (c Config) Without(tag string) (Config, error) {
	normal, err := c.Normalize()
	if err != nil {
		return Config{}, fmt.Errorf("remove entities tagged %q: %w", tag, err)
	}
	return normal.filter(func(m *Meta) bool { return !slices.Contains(m.Tags, tag) }).attached(), nil
}

// Replace returns the configuration with one owner's entities in place of those
// that it had: each that has the tag is removed, those of next get the tag and
// are added. The time of creation of an entity stays. A name that another owner has is an
// error that wraps [ErrConflict].
//
// What others have attached to its entities is never removed: it stays as long as these
// are there, by their ids. Otherwise routes and plugins are carried over to what takes the
// place of an entity: to the routes of next that match the same requests, as in
// [Conflicts], and to the services of these. A plugin gets another id then. What cannot be
// carried over is an error that names it and wraps [ErrAttached].
func (c Config) Replace(tag string, next Config) (Config, error) {
	normal, err := NewNormal(c)
	if err != nil {
		return Config{}, fmt.Errorf("replace entities tagged %q: %w", tag, err)
	}
	made, err := normal.Replace(tag, next)
	return made.config, err
}

// Merge returns the entities of both configurations together, normalised. Names
// and ids that both have are errors that wrap [ErrConflict]. What of c refers to
// entities that are in neither is left out, so that c may be part of a
// configuration; in next such references are errors.
func (c Config) Merge(next Config) (Config, error) { return c.with(next).Normalize() }

// with is Merge, not normalised yet. The entities share memory with those of both.
func (c Config) with(next Config) Config {
	base := c.attachedTo(next.ids())
	return Config{
		Services:  slices.Concat(base.Services, next.Services),
		Routes:    slices.Concat(base.Routes, next.Routes),
		Plugins:   slices.Concat(base.Plugins, next.Plugins),
		Consumers: slices.Concat(base.Consumers, next.Consumers),
		Keys:      slices.Concat(base.Keys, next.Keys),
		Upstreams: slices.Concat(base.Upstreams, next.Upstreams),
		Targets:   slices.Concat(base.Targets, next.Targets),
	}
}

// ids are those that entities have or will have when they are normalised.
func (c Config) ids() map[string]bool {
	n := newNormalizer(c, &Config{})
	n.services()
	n.upstreams()
	n.consumers()
	n.routes()
	ids := map[string]bool{}
	for _, list := range n.config.identities() {
		for _, e := range list {
			ids[e.meta.ID] = true
		}
	}
	return ids
}

// filter keeps the entities that keep selects.
func (c Config) filter(keep func(*Meta) bool) Config {
	all := c.Clone()
	return Config{
		Services:  slices.DeleteFunc(all.Services, func(e Service) bool { return !keep(&e.Meta) }),
		Routes:    slices.DeleteFunc(all.Routes, func(e Route) bool { return !keep(&e.Meta) }),
		Plugins:   slices.DeleteFunc(all.Plugins, func(e Plugin) bool { return !keep(&e.Meta) }),
		Consumers: slices.DeleteFunc(all.Consumers, func(e Consumer) bool { return !keep(&e.Meta) }),
		Keys:      slices.DeleteFunc(all.Keys, func(e Key) bool { return !keep(&e.Meta) }),
		Upstreams: slices.DeleteFunc(all.Upstreams, func(e Upstream) bool { return !keep(&e.Meta) }),
		Targets:   slices.DeleteFunc(all.Targets, func(e Target) bool { return !keep(&e.Meta) }),
	}
}

// attached leaves out what refers to entities that are not there.
func (c Config) attached() Config { return c.attachedTo(nil) }

// attachedTo is attached, with more ids that are there.
func (c Config) attachedTo(more map[string]bool) Config {
	there := map[string]bool{}
	for _, list := range c.identities() {
		for _, e := range list {
			if e.kind != KindRoute {
				there[e.meta.ID] = true
			}
		}
	}
	loose := func(ref *Ref) bool {
		return ref != nil && ref.ID != "" && !there[ref.ID] && !more[ref.ID]
	}
	c.Routes = slices.DeleteFunc(slices.Clone(c.Routes), func(e Route) bool { return loose(e.Service) })
	for _, e := range c.Routes {
		there[e.ID] = true
	}
	c.Plugins = slices.DeleteFunc(slices.Clone(c.Plugins),
		func(e Plugin) bool { return loose(e.Service) || loose(e.Route) || loose(e.Consumer) })
	c.Keys = slices.DeleteFunc(slices.Clone(c.Keys), func(e Key) bool { return loose(e.Consumer) })
	c.Targets = slices.DeleteFunc(slices.Clone(c.Targets), func(e Target) bool { return loose(e.Upstream) })
	return c
}
