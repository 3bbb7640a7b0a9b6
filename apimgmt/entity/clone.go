package entity

import (
	"cmp"
	"maps"
	"slices"
)

// Empty reports whether there is no entity.
func (c Config) Empty() bool {
	return len(c.Services)+len(c.Routes)+len(c.Plugins)+len(c.Consumers)+len(c.Keys)+len(c.Upstreams)+len(c.Targets) == 0
}

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
	s.Enabled = clonePointer(s.Enabled)
	s.Retries = clonePointer(s.Retries)
	s.TLSVerify = clonePointer(s.TLSVerify)
	return s
}

func (r Route) clone() Route {
	r.Meta = r.Meta.clone()
	r.Service = clonePointer(r.Service)
	r.Protocols = slices.Clone(r.Protocols)
	r.Methods = slices.Clone(r.Methods)
	r.Hosts = slices.Clone(r.Hosts)
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
	p.Service = clonePointer(p.Service)
	p.Route = clonePointer(p.Route)
	p.Consumer = clonePointer(p.Consumer)
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

// identity is an entity as seen from outside.
type identity struct {
	kind   Kind
	meta   *Meta
	name   string
	entity any // a pointer
}

// identities lists the entities kind by kind, those that are referred to first. The
// pointers lead into the configuration.
func (c *Config) identities() [][]identity {
	return [][]identity{
		identities(c.Services, func(e *Service) identity { return identity{KindService, &e.Meta, e.Name, e} }),
		identities(c.Upstreams, func(e *Upstream) identity { return identity{KindUpstream, &e.Meta, e.Name, e} }),
		identities(c.Targets, func(e *Target) identity { return identity{KindTarget, &e.Meta, e.Target, e} }),
		identities(c.Consumers, func(e *Consumer) identity { return identity{KindConsumer, &e.Meta, cmp.Or(e.Username, e.CustomID), e} }),
		identities(c.Routes, func(e *Route) identity { return identity{KindRoute, &e.Meta, e.Name, e} }),
		identities(c.Plugins, func(e *Plugin) identity { return identity{KindPlugin, &e.Meta, e.Name, e} }),
		identities(c.Keys, func(e *Key) identity { return identity{KindKey, &e.Meta, "", e} }),
	}
}

func identities[E any](list []E, of func(*E) identity) []identity {
	made := make([]identity, len(list))
	for i := range list {
		made[i] = of(&list[i])
	}
	return made
}
