package entity

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// ErrAttached is wrapped by the error of a replacement that would remove what others have
// attached to an owner's entities. [ErrConflict] is as well.
var ErrAttached = errors.New("entity: attached by others")

// attachedError reports an entity that a replacement would remove.
type attachedError struct {
	kind     Kind
	id, name string
	on       string // what it is attached to
	reason   string
}

func (e *attachedError) Error() string {
	name := e.id
	if e.name != "" {
		name = fmt.Sprintf("%q (id %s)", e.name, e.id)
	}
	return fmt.Sprintf("%s %s, which others have attached to %s, would be lost: %s; delete it first, or move it", e.kind, name, e.on, e.reason)
}

func (e *attachedError) Unwrap() []error { return []error{ErrAttached, ErrConflict} }

// Carried is an entity of others that was attached to an entity of an owner, and is
// attached to what took the place of that entity.
type Carried struct {
	// Kind and Name are those of the entity.
	Kind Kind
	Name string
	// From is the id that it had, and To the id that it has.
	From, To string
	// Was is what it was attached to, and On what it is attached to, such as
	// `service "things-2"`.
	Was, On string
	// Instance is the instance name of a plugin, which it loses: the plugin that it takes the place of has it
	// until then, and names of instances are unique. Empty if it had none.
	Instance string
}

// String is a phrase such as `plugin "key-auth" of service "things-1" is carried over to
// service "things-2"`.
func (c Carried) String() string {
	text := fmt.Sprintf("%s %q of %s is carried over to %s", c.Kind, c.Name, c.Was, c.On)
	if c.Instance != "" {
		text += fmt.Sprintf(", without its instance name %q", c.Instance)
	}
	return text
}

// Plan is the effect of [Normal.Replace].
type Plan struct {
	// Changes are all changes, those of what others have attached included.
	Changes []Change
	// Carried are the entities of others that are carried over.
	Carried []Carried
	// After is what the owner has afterwards, with all plugins that count for its routes.
	After Config
}

// Plan returns what replacing an owner's entities changes, and the configuration after it.
func (n Normal) Plan(tag string, next Config) (Plan, Normal, error) {
	after, carried, err := n.ReplaceCarrying(tag, next)
	if err != nil {
		return Plan{}, Normal{}, err
	}
	changes, err := n.Diff(after)
	return Plan{Changes: changes, Carried: carried, After: after.config.Counting(tag)}, after, err
}

// Counting returns the entities that have a tag, and the plugins of others that count for
// its routes: those on its routes and services, and those for everything. It is a copy.
func (c Config) Counting(tag string) Config {
	made, attached := c.Tagged(tag), c.Attached(tag)
	made.Plugins = append(made.Plugins, Config{Plugins: attached.Plugins}.Clone().Plugins...)
	for _, p := range c.Plugins {
		if p.Service == nil && p.Route == nil && p.Consumer == nil && !slices.Contains(p.Tags, tag) {
			made.Plugins = append(made.Plugins, p.clone())
		}
	}
	return made
}

// carrier attaches to an owner's new entities what others had attached to the old ones.
// Nothing that it reads is changed.
type carrier struct {
	before, after Config // normalised; after lacks what is carried
	tag           string

	successors map[string][]*Route        // by the id of a route of the owner, those that match its requests now
	origins    map[string]map[string]bool // by the id of a service, those whose requests it has now
	names      map[string]string          // of services and routes, by id
	there      map[string]bool            // ids in after

	made    Config
	carried []Carried
	faults  []error
}

func newCarrier(before, after Config, tag string) *carrier {
	c := &carrier{before: before, after: after, tag: tag, successors: map[string][]*Route{},
		origins: map[string]map[string]bool{}, names: map[string]string{}, there: map[string]bool{}}
	for _, config := range []*Config{&c.before, &c.after} {
		for _, list := range config.identities() {
			for _, e := range list {
				c.names[e.meta.ID] = fmt.Sprintf("%s %q", e.kind, cmp.Or(e.name, e.meta.ID))
			}
		}
	}
	for _, list := range c.after.identities() {
		for _, e := range list {
			c.there[e.meta.ID] = true
		}
	}
	c.match()
	return c
}

// match finds the successors of the owner's routes: those that match the same requests, or
// else the one of the same id.
func (c *carrier) match() {
	old, fresh := c.owned(&c.before), c.owned(&c.after)
	byID := map[string]*Route{}
	for i := range c.after.Routes {
		byID[c.after.Routes[i].ID] = &c.after.Routes[i]
	}
	for _, found := range Conflicts(old, fresh) {
		c.successors[found.Route] = append(c.successors[found.Route], byID[found.Other])
	}
	for _, r := range old.Routes {
		if stayed := byID[r.ID]; stayed != nil && len(c.successors[r.ID]) == 0 {
			c.successors[r.ID] = []*Route{stayed}
		}
		for _, next := range c.successors[r.ID] {
			to := next.Service.key()
			if c.origins[to] == nil {
				c.origins[to] = map[string]bool{}
			}
			c.origins[to][r.Service.key()] = true
		}
	}
}

// owned are the owner's routes, without names, so that conflicts have their ids.
func (c *carrier) owned(config *Config) Config {
	var made Config
	for _, r := range config.Routes {
		if slices.Contains(r.Tags, c.tag) {
			r.Name = ""
			made.Routes = append(made.Routes, r)
		}
	}
	return made
}

// services are those that have the requests of the owner's routes of a service now.
func (c *carrier) services(id string) []string {
	var found []string
	for _, r := range c.before.Routes {
		if r.Service.key() != id {
			continue
		}
		for _, next := range c.successors[r.ID] {
			if to := next.Service.key(); to != "" && !slices.Contains(found, to) {
				found = append(found, to)
			}
		}
	}
	return found
}

// maxFaults is the number of entities that an error names.
const maxFaults = 20

func (c *carrier) fail(kind Kind, m Meta, name, on, format string, args ...any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, &attachedError{kind: kind, id: m.ID, name: name, on: on, reason: fmt.Sprintf(format, args...)})
	}
}

// carry attaches what is lost otherwise, and the plugins that count for requests which
// other routes or services have now.
func (c *carrier) carry(lost Config, staying []Plugin) {
	for _, r := range lost.Routes {
		was, next := c.names[r.Service.key()], c.services(r.Service.key())
		if len(next) != 1 {
			c.fail(KindRoute, r.Meta, r.Name, was, "there is no single service in its place")
			continue
		}
		made := r.clone()
		made.Service = &Ref{ID: next[0]}
		c.made.Routes = append(c.made.Routes, made)
		c.there[r.ID] = true
		c.carried = append(c.carried, Carried{Kind: KindRoute, Name: r.label(), From: r.ID, To: r.ID, Was: was, On: c.names[next[0]]})
	}
	for i := range staying {
		c.plugin(&staying[i])
	}
	for i := range lost.Plugins {
		c.plugin(&lost.Plugins[i])
	}
	for _, t := range lost.Targets {
		c.fail(KindTarget, t.Meta, t.Target, c.names[t.Upstream.key()], "whether it serves what is published now is not known")
	}
	for _, k := range lost.Keys {
		c.fail(KindKey, k.Meta, "", c.names[k.Consumer.key()], "the consumer goes")
	}
}

// plugin carries one over to where the requests that it counts for are now. It gets another
// id: a gateway that makes one change after the other can then have the new one before it
// serves the new route, and the old one for as long as it serves the old route.
func (c *carrier) plugin(p *Plugin) {
	stays := true
	for _, ref := range []*Ref{p.Route, p.Service, p.Consumer} {
		stays = stays && (ref == nil || c.there[ref.ID])
	}
	if stays && !slices.ContainsFunc(c.after.Plugins, func(q Plugin) bool { return q.ID == p.ID }) {
		c.made.Plugins = append(c.made.Plugins, p.clone()) // on a route of others, which is carried
	}
	was := c.names[p.Service.key()]
	if p.Route != nil {
		was = c.names[p.Route.ID]
	}
	next := c.places(p)
	if len(next) == 0 && !stays {
		c.fail(KindPlugin, p.Meta, p.Name, was, "nothing is in its place")
	}
	for _, made := range next {
		on := cmp.Or(made.Route.key(), made.Service.key())
		other := at(&made, c.after.Plugins, c.made.Plugins)
		switch {
		case other != nil && made.sameAs(other):
		case other != nil:
			c.fail(KindPlugin, p.Meta, p.Name, was, "%s, which is in its place, has a plugin %q of its own", c.names[on], p.Name)
		case made.Consumer != nil && !c.there[made.Consumer.ID]:
			c.fail(KindPlugin, p.Meta, p.Name, c.names[made.Consumer.ID], "the consumer goes")
		case made.Route == nil && !c.everywhere(p, c.origins[on]):
			c.fail(KindPlugin, p.Meta, p.Name, was, "%s, which is in its place, is in the place of others too", c.names[on])
		default:
			made.ID = deriveID(KindPlugin, made.Name, made.Service.key(), made.Route.key(), made.Consumer.key())
			c.made.Plugins = append(c.made.Plugins, made)
			c.carried = append(c.carried, Carried{Kind: KindPlugin, Name: p.Name, From: p.ID, To: made.ID, Was: was, On: c.names[on],
				Instance: p.InstanceName})
		}
	}
}

// places are copies of a plugin at the routes or services that have its requests now, but
// for where it is. They have no instance name.
func (c *carrier) places(p *Plugin) []Plugin {
	var next []Plugin
	place := func(route, service *Ref) {
		made := p.clone()
		made.Route = route
		made.Service = service
		made.InstanceName = ""
		next = append(next, made)
	}
	if p.Route != nil {
		for _, r := range c.successors[p.Route.ID] {
			switch {
			case r.ID == p.Route.ID:
			case p.Service == nil:
				place(&Ref{ID: r.ID}, nil)
			default:
				place(&Ref{ID: r.ID}, clonePointer(r.Service))
			}
		}
		return next
	}
	for _, id := range c.services(p.Service.key()) {
		if id != p.Service.key() {
			place(nil, &Ref{ID: id})
		}
	}
	return next
}

// everywhere reports whether each of several services had a plugin like one of them.
func (c *carrier) everywhere(p *Plugin, services map[string]bool) bool {
	for id := range services {
		like := *p
		like.Service = &Ref{ID: id}
		if other := at(&like, c.before.Plugins); other == nil || !like.sameAs(other) {
			return false
		}
	}
	return true
}

// at is the plugin of the same kind at the place of another one.
func at(p *Plugin, lists ...[]Plugin) *Plugin {
	for _, list := range lists {
		for i := range list {
			q := &list[i]
			if q.Name == p.Name && q.Service.key() == p.Service.key() && q.Route.key() == p.Route.key() && q.Consumer.key() == p.Consumer.key() {
				return q
			}
		}
	}
	return nil
}

// sameAs reports whether a plugin does what another one of its kind does.
func (p *Plugin) sameAs(q *Plugin) bool {
	return *p.Enabled == *q.Enabled && bytes.Equal(p.Config, q.Config) && slices.Equal(p.Protocols, q.Protocols)
}

// Attached returns the entities of others that refer to entities with a tag, not
// normalised. It shares memory with c.
func (c Config) Attached(tag string) Config {
	mine := map[string]bool{}
	for _, list := range c.identities() {
		for _, e := range list {
			if slices.Contains(e.meta.Tags, tag) {
				mine[e.meta.ID] = true
			}
		}
	}
	attached := func(m *Meta, refs ...*Ref) bool {
		return !slices.Contains(m.Tags, tag) && slices.ContainsFunc(refs, func(ref *Ref) bool { return mine[ref.key()] })
	}
	return Config{
		Routes:  pickFrom(c.Routes, func(e *Route) bool { return attached(&e.Meta, e.Service) }),
		Plugins: pickFrom(c.Plugins, func(e *Plugin) bool { return attached(&e.Meta, e.Service, e.Route, e.Consumer) }),
		Keys:    pickFrom(c.Keys, func(e *Key) bool { return attached(&e.Meta, e.Consumer) }),
		Targets: pickFrom(c.Targets, func(e *Target) bool { return attached(&e.Meta, e.Upstream) }),
	}
}

// missing are the entities of a list that another one has not.
func missing[E any](list, there []E, meta func(*E) *Meta) []E {
	ids := make(map[string]bool, len(there))
	for i := range there {
		ids[meta(&there[i]).ID] = true
	}
	return pickFrom(list, func(e *E) bool { return !ids[meta(e).ID] })
}

// lost are the entities of c that are not in another configuration because what they refer
// to is not. Only kinds that refer to others can be.
func (c Config) lost(there *Config) Config {
	return Config{
		Routes:  missing(c.Routes, there.Routes, func(e *Route) *Meta { return &e.Meta }),
		Plugins: missing(c.Plugins, there.Plugins, func(e *Plugin) *Meta { return &e.Meta }),
		Keys:    missing(c.Keys, there.Keys, func(e *Key) *Meta { return &e.Meta }),
		Targets: missing(c.Targets, there.Targets, func(e *Target) *Meta { return &e.Meta }),
	}
}
