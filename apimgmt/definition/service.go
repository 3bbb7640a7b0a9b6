package definition

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/internal/document"
)

// makeService creates the service of a level, unless it has one, with the plugins
// that hold for all of it. A host that is given is that of the level above, whose
// upstream is used.
func (c *converter) makeService(at *level, host string, plugins []*plugin) error {
	if at.service != nil {
		return nil
	}
	var made entity.Service
	if err := c.decode(at.serviceDefaults, &made, "id", "name", "routes", "plugins"); err != nil {
		return err
	}
	made.Name, made.Tags = c.unique(entity.KindService, at.name), slices.Clone(c.tags)
	var servers []*url.URL
	if made.Host == "" || made.Protocol == "" || made.Port == 0 || made.Path == "" {
		var err error
		if servers, err = c.addresses(at); err != nil {
			if made.Host == "" {
				return err
			}
			servers = nil // the defaults say where requests go
		}
	}
	if len(servers) > 0 {
		fill(&made, servers[0])
	}
	if made.Host == "" {
		if err := c.host(at, &made, host, servers); err != nil {
			return err
		}
	}
	plugins, err := c.stripped(plugins, made.Path, true)
	if err != nil {
		return err
	}
	c.config.Services = append(c.config.Services, made)
	place := at.serviceDefaults
	if place == nil {
		place = at.node
	}
	c.places[string(entity.KindService)+made.Name] = place
	for _, p := range plugins {
		on := p.entity
		on.Service = &entity.Ref{Name: made.Name}
		c.config.Plugins = append(c.config.Plugins, on)
	}
	at.service = &service{name: made.Name, host: made.Host, path: made.Path}
	return nil
}

// fill takes from a server what the defaults do not say, the host aside.
func fill(s *entity.Service, server *url.URL) {
	if s.Protocol == "" {
		s.Protocol = strings.ToLower(server.Scheme)
	}
	if s.Path == "" {
		s.Path = strings.TrimRight(server.EscapedPath(), "/")
	}
	if s.Port == 0 {
		s.Port = urlPort(server)
	}
}

// urlPort is the port of an address, that of its protocol if it has none.
func urlPort(u *url.URL) int {
	if port, err := strconv.Atoi(u.Port()); err == nil {
		return port
	}
	if scheme := strings.ToLower(u.Scheme); scheme == "http" || scheme == "ws" {
		return 80
	}
	return 443
}

// host decides between a host and an upstream, and creates the latter.
func (c *converter) host(at *level, s *entity.Service, parent string, servers []*url.URL) error {
	targets := at.upstreamDefaults.Get("targets")
	alike := slices.DeleteFunc(slices.Clone(servers), func(u *url.URL) bool {
		first := servers[0]
		return !strings.EqualFold(u.Scheme, first.Scheme) ||
			strings.TrimRight(u.EscapedPath(), "/") != strings.TrimRight(first.EscapedPath(), "/")
	})
	if len(alike) == 1 && at.upstreamDefaults == nil {
		s.Host = alike[0].Hostname()
		return nil
	}
	if parent != "" {
		s.Host = parent
		return nil
	}
	var upstream entity.Upstream
	if err := c.decode(at.upstreamDefaults, &upstream, "id", "name", "targets"); err != nil {
		return err
	}
	upstream.Name, upstream.Tags = c.unique(entity.KindUpstream, upstreamName(s.Name)), slices.Clone(c.tags)
	s.Host = upstream.Name
	c.config.Upstreams = append(c.config.Upstreams, upstream)
	place := at.upstreamDefaults
	if place == nil {
		place = at.node
	}
	c.places[string(entity.KindUpstream)+upstream.Name] = place
	if targets != nil {
		return c.targets(targets, upstream.Name)
	}
	seen := map[string]bool{}
	for _, server := range alike {
		address := net.JoinHostPort(strings.ToLower(server.Hostname()), strconv.Itoa(urlPort(server)))
		if seen[address] {
			continue
		}
		seen[address] = true
		c.config.Targets = append(c.config.Targets, entity.Target{Meta: entity.Meta{Tags: slices.Clone(c.tags)},
			Target: address, Upstream: &entity.Ref{Name: upstream.Name}})
		c.places[string(entity.KindTarget)+address] = at.servers
	}
	return nil
}

// targets are those that the defaults of an upstream list.
func (c *converter) targets(n *document.Node, upstream string) error {
	if n.Kind != document.Array {
		return n.Errorf("an array is needed, this is %s", n.Kind)
	}
	for _, item := range n.Items {
		var made entity.Target
		if err := c.decode(item, &made, "id", "upstream"); err != nil {
			return err
		}
		made.Tags, made.Upstream = slices.Clone(c.tags), &entity.Ref{Name: upstream}
		c.config.Targets = append(c.config.Targets, made)
		c.places[string(entity.KindTarget)+made.Target] = item
	}
	return nil
}

// addresses are the servers of a level, absolute.
func (c *converter) addresses(at *level) ([]*url.URL, error) {
	place := at.servers
	var made []*url.URL
	if place == nil || len(place.Items) == 0 {
		place = at.node
		made = []*url.URL{{Path: "/"}} // what the specification says
	} else {
		for _, server := range place.Items {
			u, err := serverURL(server)
			if err != nil {
				return nil, err
			}
			made = append(made, u)
		}
	}
	for i, u := range made {
		if u.Host != "" && u.Scheme != "" {
			continue
		}
		if c.base == nil {
			return nil, place.Errorf("the server %q is relative: there is nothing to route to", u)
		}
		made[i] = c.base.ResolveReference(u)
	}
	return made, nil
}

// upstreamName is a host name for the upstream of a service.
func upstreamName(service string) string {
	made := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, strings.ToLower(service))
	var labels []string
	for label := range strings.SplitSeq(made, ".") {
		label = strings.Trim(label, "-")
		const most = 60
		for len(label) > most {
			labels = append(labels, strings.Trim(label[:most], "-"))
			label = strings.Trim(label[most:], "-")
		}
		if label != "" {
			labels = append(labels, label)
		}
	}
	return strings.Join(append(labels, "upstream"), ".")
}

// allowed checks every address that requests are sent to.
func (c *converter) allowed(config entity.Config) error {
	if c.options.Allow == nil {
		return nil
	}
	upstreams := map[string]bool{}
	for _, u := range config.Upstreams {
		upstreams[u.Name] = true
	}
	ask := func(kind entity.Kind, name, host string, port int) error {
		if err := c.options.Allow(host, port); err != nil {
			return c.places[string(kind)+name].Errorf("send requests to %s: %w", net.JoinHostPort(host, strconv.Itoa(port)), err)
		}
		return nil
	}
	for _, s := range config.Services {
		if upstreams[s.Host] {
			continue
		}
		if err := ask(entity.KindService, s.Name, s.Host, s.Port); err != nil {
			return err
		}
	}
	for _, t := range config.Targets {
		host, port, err := net.SplitHostPort(t.Target)
		if err != nil {
			return fmt.Errorf("target %q: %w", t.Target, err)
		}
		number, err := strconv.Atoi(port)
		if err != nil {
			return fmt.Errorf("target %q: %w", t.Target, err)
		}
		if err := ask(entity.KindTarget, t.Target, host, number); err != nil {
			return err
		}
	}
	return nil
}
