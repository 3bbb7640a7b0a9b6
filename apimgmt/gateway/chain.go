package gateway

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// instance is a compiled plugin. Tables share it while its entity stays the same;
// references counts them.
type instance struct {
	kind       *Kind
	entity     entity.Plugin
	plugin     Plugin
	references atomic.Int64
}

// same reports whether an entity would compile to the same plugin.
func (i *instance) same(e *entity.Plugin) bool {
	return i.entity.ID == e.ID && i.entity.Name == e.Name && i.entity.InstanceName == e.InstanceName &&
		bytes.Equal(i.entity.Config, e.Config) && slices.Equal(i.entity.Protocols, e.Protocols) && pluginScope(&i.entity) == pluginScope(e)
}

func (i *instance) release() error {
	if i.references.Add(-1) != 0 || i.plugin.Close == nil {
		return nil
	}
	if err := i.plugin.Close(); err != nil {
		return fmt.Errorf("close plugin %q: %w", cmp.Or(i.entity.InstanceName, i.entity.Name), err)
	}
	return nil
}

// scope is what a plugin is set for, by id; empty means all.
type scope struct{ route, service, consumer string }

func pluginScope(p *entity.Plugin) scope {
	id := func(r *entity.Ref) string {
		if r == nil {
			return ""
		}
		return r.ID
	}
	return scope{id(p.Route), id(p.Service), id(p.Consumer)}
}

// chain is the plugins of a route in order, one step for each kind.
type chain []step

// chains are those of requests that came in plain, and over TLS: a plugin may be for
// one of them only.
type chains struct{ plain, secure chain }

// of is the chain of requests of a scheme.
func (c *chains) of(scheme string) chain {
	if scheme == "https" {
		return c.secure
	}
	return c.plain
}

// step chooses the plugin of one kind for a request.
type step struct {
	base      *instance            // for requests of no consumer below; may be nil
	consumers map[string]*instance // for a consumer, by id; nil if none exist
}

// plugins are all that a configuration has, by kind.
type plugins map[*Kind]*placed

// placed are the plugins of a kind by scope, and the scopes with a consumer, which
// are tried for every route.
type placed struct {
	scopes    map[scope]*instance
	consumers []scope
}

func (p *placed) add(i *instance) {
	at := pluginScope(&i.entity)
	p.scopes[at] = i
	if at.consumer != "" {
		p.consumers = append(p.consumers, at)
	}
}

// chain picks the plugins that count on a route and service, either of which may
// be empty. The most specific counts, in the order of Kong: route, service and
// consumer; route and consumer; service and consumer; route and service;
// consumer; route; service; all.
func (p plugins) chain(route, service, protocol string, kinds []*Kind) chain {
	var c chain
	for _, kind := range kinds {
		scopes := p[kind].scopes
		s := step{base: mostSpecific(scopes, protocol, scope{route, service, ""}, scope{route, "", ""}, scope{"", service, ""}, scope{})}
		for _, sc := range p[kind].consumers {
			if s.consumers[sc.consumer] != nil ||
				(sc.route != "" && sc.route != route) || (sc.service != "" && sc.service != service) {
				continue
			}
			consumer := sc.consumer
			found := mostSpecific(scopes, protocol,
				scope{route, service, consumer}, scope{route, "", consumer}, scope{"", service, consumer},
				scope{route, service, ""}, scope{"", "", consumer}, scope{route, "", ""})
			if found != nil {
				if s.consumers == nil {
					s.consumers = map[string]*instance{}
				}
				s.consumers[consumer] = found
			}
		}
		if s.base != nil || s.consumers != nil {
			c = append(c, s)
		}
	}
	return c
}

func mostSpecific(scopes map[scope]*instance, protocol string, order ...scope) *instance {
	for _, s := range order {
		if i := scopes[s]; i != nil && i.appliesTo(protocol) {
			return i
		}
	}
	return nil
}

// appliesTo reports whether a plugin is for requests of a protocol. WebSockets begin
// as requests of HTTP.
func (i *instance) appliesTo(protocol string) bool {
	return len(i.entity.Protocols) == 0 || slices.Contains(i.entity.Protocols, protocol) ||
		(protocol == "http" && slices.Contains(i.entity.Protocols, "ws")) || (protocol == "https" && slices.Contains(i.entity.Protocols, "wss"))
}

// access runs the chain until a plugin answers, and notes all that the request has
// passed, those after the answer as well.
func (c chain) access(x *Exchange) *Answer {
	var answer *Answer
	for i := range c {
		s := &c[i]
		chosen := s.base
		if s.consumers != nil && x.identity.Consumer != nil {
			if special := s.consumers[x.identity.Consumer.ID]; special != nil {
				chosen = special
			}
		}
		if chosen == nil {
			continue
		}
		x.passed = append(x.passed, chosen)
		if answer == nil && chosen.plugin.Access != nil {
			if answer = chosen.plugin.Access(x); answer != nil {
				x.answered = chosen
			}
		}
	}
	return answer
}

// compilePlugins creates the plugins of a configuration, or takes them from the
// table before where they are the same. On an error everything made is closed.
func (g *Gateway) compilePlugins(config *entity.Config, before *table, stored bool) (_ plugins, all []*instance, err error) {
	old := map[string]*instance{}
	if before != nil {
		for _, i := range before.instances {
			old[i.entity.ID] = i
		}
	}
	defer func() {
		if err != nil {
			for _, i := range all {
				err = errors.Join(err, i.release())
			}
		}
	}()
	byKind := plugins{}
	for n := range config.Plugins {
		e := &config.Plugins[n]
		if e.Enabled != nil && !*e.Enabled {
			continue
		}
		name := cmp.Or(e.InstanceName, e.Name)
		kind := g.kinds[e.Name]
		if kind == nil {
			return nil, all, pluginFault(e, errors.New("name: no plugin of that name is installed"))
		}
		if kind.NoConsumer && e.Consumer != nil {
			return nil, all, pluginFault(e, errors.New("consumer: it cannot be set for a consumer"))
		}
		if byKind[kind] == nil {
			byKind[kind] = &placed{scopes: map[scope]*instance{}}
		}
		if byKind[kind].scopes[pluginScope(e)] != nil {
			return nil, all, fmt.Errorf("plugin %q: there is another %s for the same route, service and consumer", name, e.Name)
		}
		made := old[e.ID]
		if made == nil || !made.same(e) {
			compiled, err := kind.Compile(g.setup(e))
			if err != nil {
				return nil, all, pluginFault(e, err)
			}
			made = &instance{kind: kind, entity: *e, plugin: compiled}
		}
		made.references.Add(1)
		all = append(all, made)
		if fault := made.plugin.Unusable; fault != nil && made != old[e.ID] {
			fault = pluginFault(e, fault)
			if !stored {
				return nil, all, fault
			}
			g.options.Logger.Error("a plugin of the stored configuration would be refused now", "error", fault)
		}
		byKind[kind].add(made)
	}
	return byKind, all, nil
}

func (g *Gateway) setup(e *entity.Plugin) Setup {
	config := e.Config
	if len(config) == 0 || string(config) == "null" {
		config = []byte("{}")
	}
	return Setup{
		ID: e.ID, InstanceName: e.InstanceName, Config: config,
		Logger: g.options.Logger.With("plugin", e.Name), Client: g.client,
	}
}

// inOrder sorts kinds as requests pass them.
func inOrder(kinds []*Kind) []*Kind {
	slices.SortFunc(kinds, func(a, b *Kind) int {
		return cmp.Or(-cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Name, b.Name))
	})
	return kinds
}

// pluginFault is what is wrong with a plugin, as an error of the field that the text
// begins with.
func pluginFault(e *entity.Plugin, err error) error {
	field, reason, found := strings.Cut(err.Error(), ": ")
	if !found || strings.Contains(field, " ") {
		field, reason = "config", err.Error()
	}
	return &entity.FieldError{Kind: entity.KindPlugin, ID: e.ID, Name: cmp.Or(e.InstanceName, e.Name), Field: field, Reason: reason}
}
