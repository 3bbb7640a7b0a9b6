package entity

import (
	"cmp"
	"encoding/json"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// Normalize returns a copy in which every default is filled in, every entity has
// an id, references are by id alone, and lists are in order; or an error that
// joins a [*FieldError] for each rule that is broken. What it returns is valid and
// shares no memory with what it was created from. Normalising it again changes
// nothing.
//
// Ids that are missing come from what names the entity: a UUID of version 5 over
// the names of services, routes, upstreams and consumers; over what it matches
// and its service for a route without a name; over the kind and what it is on for
// a plugin; over the consumer and the place in the list for a key, so that no
// hash of the secret is shown.
func (c Config) Normalize() (Config, error) {
	return newNormalizer(c, &Config{}).normalize()
}

// Clone returns a copy that shares no memory with the configuration.
func (c Config) Clone() Config {
	return Config{
		Services:  cloneEach(c.Services, Service.clone),
		Routes:    cloneEach(c.Routes, Route.clone),
		Plugins:   cloneEach(c.Plugins, Plugin.clone),
		Consumers: cloneEach(c.Consumers, Consumer.clone),
		Keys:      cloneEach(c.Keys, Key.clone),
		Upstreams: cloneEach(c.Upstreams, Upstream.clone),
		Targets:   cloneEach(c.Targets, Target.clone),
	}
}

// normalizer fills a configuration in, and finds what is wrong with it.
type normalizer struct {
	problems
	config Config
	// known are the entities, by their places in the lists, that are normal by
	// themselves. They are shared and must not be changed.
	known struct{ services, routes, plugins, consumers, keys, upstreams, targets []bool }

	serviceIDs, routeIDs, consumerIDs, upstreamIDs names
}

// newNormalizer begins with a copy of a configuration. before is one that was
// normalised; entities that it has as well are not looked at again.
func newNormalizer(c Config, before *Config) *normalizer {
	n := &normalizer{}
	n.config.Services, n.known.services = adopt(c.Services, before.Services, func(e *Service) *Meta { return &e.Meta }, Service.clone)
	n.config.Routes, n.known.routes = adopt(c.Routes, before.Routes, func(e *Route) *Meta { return &e.Meta }, Route.clone)
	n.config.Plugins, n.known.plugins = adopt(c.Plugins, before.Plugins, func(e *Plugin) *Meta { return &e.Meta }, Plugin.clone)
	n.config.Consumers, n.known.consumers = adopt(c.Consumers, before.Consumers, func(e *Consumer) *Meta { return &e.Meta }, Consumer.clone)
	n.config.Keys, n.known.keys = adopt(c.Keys, before.Keys, func(e *Key) *Meta { return &e.Meta }, Key.clone)
	n.config.Upstreams, n.known.upstreams = adopt(c.Upstreams, before.Upstreams, func(e *Upstream) *Meta { return &e.Meta }, Upstream.clone)
	n.config.Targets, n.known.targets = adopt(c.Targets, before.Targets, func(e *Target) *Meta { return &e.Meta }, Target.clone)
	return n
}

func (n *normalizer) normalize() (Config, error) {
	n.services()
	n.upstreams()
	n.consumers()
	n.routes()
	n.plugins()
	n.keys()
	n.targets()
	n.sort()
	n.uniqueIDs()
	if err := n.err(); err != nil {
		return Config{}, err
	}
	return n.config, nil
}

// names finds entities of a kind by id and by name.
type names struct {
	ids    map[string]bool
	byName map[string]string
}

func (n *names) add(id, name string) {
	if n.ids == nil {
		n.ids, n.byName = map[string]bool{}, map[string]string{}
	}
	n.ids[id] = true
	if name != "" {
		n.byName[name] = id
	}
}

// resolve replaces a reference by one that has the id. Several fields of a reference have to
// agree.
func (n *names) resolve(s subject, field string, ref *Ref) {
	if ref == nil {
		return
	}
	switch {
	case ref.ID == "" && ref.Name == "":
		s.failf(field, "an id or a name is needed")
	case ref.ID != "":
		id := strings.ToLower(ref.ID)
		if !n.ids[id] {
			s.danglingf(field, "there is no such entity with the id %q", ref.ID)
		} else if ref.Name != "" && n.byName[ref.Name] != id {
			s.danglingf(field, "the entity with the id %q is not named %q", ref.ID, ref.Name)
		}
		if ref.ID != id || ref.Name != "" { // one that is normal may be shared
			ref.ID, ref.Name = id, ""
		}
	default:
		id, ok := n.byName[ref.Name]
		if !ok {
			s.danglingf(field, "there is no such entity named %q", ref.Name)
		}
		ref.ID, ref.Name = id, ""
	}
}

// identify gives an entity an id, or checks the one it has.
func identify(s *subject, m *Meta, parts ...string) {
	if m.ID == "" {
		m.ID = deriveID(s.kind, parts...)
	}
	s.id = m.ID
	id, err := uuid.Parse(m.ID)
	if err != nil || len(m.ID) != 36 {
		s.failf("id", "%q is not a UUID", m.ID)
	} else {
		m.ID = id.String()
	}
	s.meta(m)
}

func (n *normalizer) services() {
	taken := map[string]bool{}
	for i := range n.config.Services {
		e := &n.config.Services[i]
		s := subject{problems: &n.problems, kind: KindService, id: e.ID, name: e.Name}
		if !n.known.services[i] {
			e.fill()
			identify(&s, &e.Meta, cmp.Or(e.Name, e.Protocol+"://"+net.JoinHostPort(e.Host, strconv.Itoa(e.Port))+e.Path))
			e.check(s)
		}
		s.unique(taken, "name", e.Name)
		n.serviceIDs.add(e.ID, e.Name)
	}
}

func (n *normalizer) upstreams() {
	taken := map[string]bool{}
	for i := range n.config.Upstreams {
		e := &n.config.Upstreams[i]
		s := subject{problems: &n.problems, kind: KindUpstream, id: e.ID, name: e.Name}
		if !n.known.upstreams[i] {
			e.fill()
			identify(&s, &e.Meta, e.Name)
			e.check(s)
		}
		s.unique(taken, "name", e.Name)
		n.upstreamIDs.add(e.ID, e.Name)
	}
}

func (n *normalizer) consumers() {
	usernames, customIDs := map[string]bool{}, map[string]bool{}
	for i := range n.config.Consumers {
		e := &n.config.Consumers[i]
		s := subject{problems: &n.problems, kind: KindConsumer, id: e.ID, name: cmp.Or(e.Username, e.CustomID)}
		if !n.known.consumers[i] {
			identify(&s, &e.Meta, e.Username, e.CustomID)
			e.check(s)
		}
		s.unique(usernames, "username", e.Username)
		s.unique(customIDs, "custom_id", e.CustomID)
		n.consumerIDs.add(e.ID, e.Username)
	}
}

func (n *normalizer) routes() {
	taken := map[string]bool{}
	for i := range n.config.Routes {
		e := &n.config.Routes[i]
		s := subject{problems: &n.problems, kind: KindRoute, id: e.ID, name: e.Name}
		n.serviceIDs.resolve(s, "service", e.Service)
		if !n.known.routes[i] {
			e.fill()
			signature := []string{e.Name}
			if e.Name == "" {
				signature = e.signature()
			}
			identify(&s, &e.Meta, signature...)
			e.check(s)
		}
		s.unique(taken, "name", e.Name)
		n.routeIDs.add(e.ID, e.Name)
	}
}

// signature is what a route without a name is known by: what it matches.
func (r *Route) signature() []string {
	header, err := json.Marshal(r.Headers)
	if err != nil { // maps of strings are always encoded
		header = nil
	}
	parts := []string{"", r.Service.key(), string(header)}
	for _, list := range [][]string{r.Protocols, r.Methods, r.Hosts, r.Paths, r.SNIs} {
		parts = append(parts, strconv.Itoa(len(list)))
		parts = append(parts, list...)
	}
	return parts
}

// key is the id of what is referred to, empty for nil.
func (r *Ref) key() string {
	if r == nil {
		return ""
	}
	return r.ID
}

func (n *normalizer) plugins() {
	taken, instances := map[[4]string]bool{}, map[string]bool{}
	for i := range n.config.Plugins {
		e := &n.config.Plugins[i]
		s := subject{problems: &n.problems, kind: KindPlugin, id: e.ID, name: e.Name}
		n.serviceIDs.resolve(s, "service", e.Service)
		n.routeIDs.resolve(s, "route", e.Route)
		n.consumerIDs.resolve(s, "consumer", e.Consumer)
		place := [4]string{e.Name, e.Service.key(), e.Route.key(), e.Consumer.key()}
		if !n.known.plugins[i] {
			e.fill()
			identify(&s, &e.Meta, place[:]...)
			e.check(s)
		}
		if taken[place] {
			s.conflictf("name", "there is another plugin %q on the same service, route and consumer", e.Name)
		}
		taken[place] = true
		s.unique(instances, "instance_name", e.InstanceName)
	}
}

func (n *normalizer) keys() {
	taken, count, ids := map[string]bool{}, map[string]int{}, map[string]bool{}
	for i := range n.config.Keys {
		ids[n.config.Keys[i].ID] = true
	}
	for i := range n.config.Keys {
		e := &n.config.Keys[i]
		s := subject{problems: &n.problems, kind: KindKey, id: e.ID}
		n.consumerIDs.resolve(s, "consumer", e.Consumer)
		owner := e.Consumer.key()
		for e.ID == "" { // the first place that no other key of the consumer has
			if id := deriveID(KindKey, owner, strconv.Itoa(count[owner])); !ids[id] {
				e.ID = id
			}
			count[owner]++
		}
		if !n.known.keys[i] {
			identify(&s, &e.Meta)
			e.check(s)
		}
		if taken[e.Key] && e.Key != "" {
			s.conflictf("key", "another consumer or credential has the same key")
		}
		taken[e.Key] = true
	}
}

func (n *normalizer) targets() {
	taken := map[[2]string]bool{}
	for i := range n.config.Targets {
		e := &n.config.Targets[i]
		s := subject{problems: &n.problems, kind: KindTarget, id: e.ID, name: e.Target}
		if !n.known.targets[i] {
			e.fill()
		}
		n.upstreamIDs.resolve(s, "upstream", e.Upstream)
		place := [2]string{e.Upstream.key(), e.Target}
		if !n.known.targets[i] {
			identify(&s, &e.Meta, place[:]...)
			e.check(s)
		}
		if taken[place] {
			s.conflictf("target", "the upstream has the target %q twice", e.Target)
		}
		taken[place] = true
	}
}

// unique notes a value that no two entities of a kind share; empty ones do not count.
func (s subject) unique(taken map[string]bool, field, value string) {
	if value == "" {
		return
	}
	if taken[value] {
		s.conflictf(field, "another %s has %q", s.kind, value)
	}
	taken[value] = true
}

func (n *normalizer) sort() {
	c := &n.config
	slices.SortStableFunc(c.Services, func(a, b Service) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	slices.SortStableFunc(c.Routes, func(a, b Route) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	slices.SortStableFunc(c.Plugins, func(a, b Plugin) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	slices.SortStableFunc(c.Consumers, func(a, b Consumer) int {
		return cmp.Or(cmp.Compare(a.Username, b.Username), cmp.Compare(a.CustomID, b.CustomID), cmp.Compare(a.ID, b.ID))
	})
	slices.SortStableFunc(c.Keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Consumer.key(), b.Consumer.key()), cmp.Compare(a.ID, b.ID))
	})
	slices.SortStableFunc(c.Upstreams, func(a, b Upstream) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	slices.SortStableFunc(c.Targets, func(a, b Target) int {
		return cmp.Or(cmp.Compare(a.Upstream.key(), b.Upstream.key()), cmp.Compare(a.Target, b.Target), cmp.Compare(a.ID, b.ID))
	})
}

// uniqueIDs finds entities of one kind with the same id.
func (n *normalizer) uniqueIDs() {
	for _, list := range n.config.identities() {
		taken := map[string]bool{}
		for _, e := range list {
			subject{problems: &n.problems, kind: e.kind, id: e.meta.ID, name: e.name}.unique(taken, "id", e.meta.ID)
		}
	}
}
