package entity

import (
	"maps"
	"slices"
)

func cloneEach[E any](list []E, clone func(E) E) []E {
	if list == nil {
		return nil
	}
	made := make([]E, len(list))
	for i, e := range list {
		made[i] = clone(e)
	}
	return made
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

func cloneHeaders(h map[string][]string) map[string][]string {
	made := maps.Clone(h)
	for name, values := range made {
		made[name] = slices.Clone(values)
	}
	return made
}

func (m Meta) clone() Meta {
	m.Tags = slices.Clone(m.Tags)
	return m
}

func (s Service) clone() Service {
	s.Meta = s.Meta.clone()
	s.Enabled, s.Retries, s.TLSVerify = clonePointer(s.Enabled), clonePointer(s.Retries), clonePointer(s.TLSVerify)
	return s
}

func (r Route) clone() Route {
	r.Meta = r.Meta.clone()
	r.Service = clonePointer(r.Service)
	r.Protocols, r.Methods, r.Hosts = slices.Clone(r.Protocols), slices.Clone(r.Methods), slices.Clone(r.Hosts)
	r.Paths, r.SNIs = slices.Clone(r.Paths), slices.Clone(r.SNIs)
	r.Headers = cloneHeaders(r.Headers)
	r.StripPath = clonePointer(r.StripPath)
	r.RequestBuffering, r.ResponseBuffering = clonePointer(r.RequestBuffering), clonePointer(r.ResponseBuffering)
	return r
}

func (p Plugin) clone() Plugin {
	p.Meta = p.Meta.clone()
	p.Enabled = clonePointer(p.Enabled)
	p.Config = slices.Clone(p.Config)
	p.Protocols = slices.Clone(p.Protocols)
	p.Service, p.Route, p.Consumer = clonePointer(p.Service), clonePointer(p.Route), clonePointer(p.Consumer)
	return p
}

func (c Consumer) clone() Consumer {
	c.Meta = c.Meta.clone()
	return c
}

func (k Key) clone() Key {
	k.Meta = k.Meta.clone()
	k.Consumer = clonePointer(k.Consumer)
	return k
}

func (u Upstream) clone() Upstream {
	u.Meta = u.Meta.clone()
	if u.Healthchecks != nil {
		h := *u.Healthchecks
		h.Active.Headers = cloneHeaders(h.Active.Headers)
		h.Active.HTTPSVerifyCertificate = clonePointer(h.Active.HTTPSVerifyCertificate)
		for _, v := range []*Verdict{&h.Active.Healthy, &h.Active.Unhealthy, &h.Passive.Healthy, &h.Passive.Unhealthy} {
			v.HTTPStatuses = slices.Clone(v.HTTPStatuses)
		}
		u.Healthchecks = &h
	}
	return u
}

func (t Target) clone() Target {
	t.Meta = t.Meta.clone()
	t.Weight = clonePointer(t.Weight)
	t.Upstream = clonePointer(t.Upstream)
	return t
}

// identity is what all entities have, as seen from outside.
type identity struct {
	kind Kind
	meta *Meta
	name string
}

// identities lists the entities of every kind. The pointers lead into the
// configuration.
func (c *Config) identities() [][]identity {
	lists := make([][]identity, 7)
	for i := range c.Services {
		lists[0] = append(lists[0], identity{KindService, &c.Services[i].Meta, c.Services[i].Name})
	}
	for i := range c.Upstreams {
		lists[1] = append(lists[1], identity{KindUpstream, &c.Upstreams[i].Meta, c.Upstreams[i].Name})
	}
	for i := range c.Targets {
		lists[2] = append(lists[2], identity{KindTarget, &c.Targets[i].Meta, c.Targets[i].Target})
	}
	for i := range c.Consumers {
		e := &c.Consumers[i]
		name := e.Username
		if name == "" {
			name = e.CustomID
		}
		lists[3] = append(lists[3], identity{KindConsumer, &e.Meta, name})
	}
	for i := range c.Routes {
		lists[4] = append(lists[4], identity{KindRoute, &c.Routes[i].Meta, c.Routes[i].Name})
	}
	for i := range c.Plugins {
		lists[5] = append(lists[5], identity{KindPlugin, &c.Plugins[i].Meta, c.Plugins[i].Name})
	}
	for i := range c.Keys {
		lists[6] = append(lists[6], identity{KindKey, &c.Keys[i].Meta, ""})
	}
	return lists
}
