package entity

import (
	"fmt"
	"io"

	"github.com/iotenablers/enablers/apimgmt/internal/document"
)

// WriteYAML writes the configuration in Kong's declarative format 3.0 as YAML,
// normalised: the same bytes for the same configuration, and [Read] of them is
// the configuration again. Entities stand within what they belong to. Secrets are
// written as they are; see [Config.Redacted].
func (c Config) WriteYAML(w io.Writer) error { return c.write(w, document.YAML) }

// WriteJSON is [Config.WriteYAML] as JSON.
func (c Config) WriteJSON(w io.Writer) error { return c.write(w, document.JSON) }

func (c Config) write(w io.Writer, format document.Format) error {
	normal, err := c.Normalize()
	if err != nil {
		return fmt.Errorf("write a declarative configuration: %w", err)
	}
	root, err := newWriter(normal).root()
	if err != nil {
		return fmt.Errorf("write a declarative configuration: %w", err)
	}
	if err := root.Write(w, format); err != nil {
		return fmt.Errorf("write a declarative configuration: %w", err)
	}
	return nil
}

// writer puts the entities of a normalised configuration into each other.
type writer struct {
	config  Config
	names   map[string]string // by id
	routes  map[string][]Route
	plugins map[string][]Plugin // by what they are on
	keys    map[string][]Key
	targets map[string][]Target
}

func newWriter(c Config) *writer {
	w := &writer{config: c, names: map[string]string{}, routes: map[string][]Route{}, plugins: map[string][]Plugin{},
		keys: map[string][]Key{}, targets: map[string][]Target{}}
	for _, e := range c.Services {
		w.names[e.ID] = e.Name
	}
	for _, e := range c.Consumers {
		w.names[e.ID] = e.Username
	}
	for _, e := range c.Routes {
		w.routes[e.Service.key()] = append(w.routes[e.Service.key()], e)
	}
	for _, e := range c.Plugins {
		owner := e.owner()
		w.plugins[owner] = append(w.plugins[owner], e)
	}
	for _, e := range c.Keys {
		w.keys[e.Consumer.key()] = append(w.keys[e.Consumer.key()], e)
	}
	for _, e := range c.Targets {
		w.targets[e.Upstream.key()] = append(w.targets[e.Upstream.key()], e)
	}
	return w
}

// owner is the id of the entity that a plugin is written in, empty for none.
func (p *Plugin) owner() string {
	switch {
	case p.Route != nil:
		return p.Route.ID
	case p.Service != nil:
		return p.Service.ID
	}
	return p.Consumer.key()
}

func (w *writer) root() (*document.Node, error) {
	root := &document.Node{Kind: document.Object}
	root.Put("_format_version", &document.Node{Kind: document.String, Text: "3.0"})
	lists := []struct {
		key  string
		make func() (*document.Node, error)
	}{
		{"services", func() (*document.Node, error) { return writeList(w.config.Services, w.service) }},
		{"routes", func() (*document.Node, error) { return writeList(w.routes[""], w.route) }},
		{"consumers", func() (*document.Node, error) { return writeList(w.config.Consumers, w.consumer) }},
		{"upstreams", func() (*document.Node, error) { return writeList(w.config.Upstreams, w.upstream) }},
		{"plugins", func() (*document.Node, error) { return writeList(w.plugins[""], w.plugin) }},
	}
	for _, list := range lists {
		if err := putList(root, list.key, list.make); err != nil {
			return nil, err
		}
	}
	return root, nil
}

func writeList[E any](list []E, make func(E) (*document.Node, error)) (*document.Node, error) {
	made := &document.Node{Kind: document.Array}
	for _, e := range list {
		item, err := make(e)
		if err != nil {
			return nil, err
		}
		made.Append(item)
	}
	return made, nil
}

// putList adds a list unless it is empty.
func putList(n *document.Node, key string, make func() (*document.Node, error)) error {
	list, err := make()
	if err != nil {
		return err
	}
	if len(list.Items) > 0 {
		n.Put(key, list)
	}
	return nil
}

func (w *writer) service(e Service) (*document.Node, error) {
	n, err := document.Marshal(e)
	if err != nil {
		return nil, err
	}
	if err := putList(n, "routes", func() (*document.Node, error) { return writeList(w.routes[e.ID], w.route) }); err != nil {
		return nil, err
	}
	return n, w.putPlugins(n, e.ID)
}

func (w *writer) putPlugins(n *document.Node, owner string) error {
	return putList(n, "plugins", func() (*document.Node, error) { return writeList(w.plugins[owner], w.plugin) })
}

func (w *writer) route(e Route) (*document.Node, error) {
	e.Service = nil // it is written within it
	n, err := document.Marshal(e)
	if err != nil {
		return nil, err
	}
	return n, w.putPlugins(n, e.ID)
}

// plugin leaves out what the plugin is written in, and names the rest.
func (w *writer) plugin(e Plugin) (*document.Node, error) {
	service, consumer := e.Service, e.Consumer
	switch {
	case e.Route != nil:
	case service != nil:
		service = nil
	default:
		consumer = nil
	}
	e.Route = nil
	e.Service = nil
	e.Consumer = nil
	n, err := document.Marshal(e)
	if err != nil {
		return nil, err
	}
	w.putRef(n, "service", service)
	w.putRef(n, "consumer", consumer)
	return n, nil
}

func (w *writer) putRef(n *document.Node, key string, ref *Ref) {
	if ref == nil {
		return
	}
	text := w.names[ref.ID]
	if text == "" || isUUID(text) {
		text = ref.ID
	}
	n.Put(key, &document.Node{Kind: document.String, Text: text})
}

func (w *writer) consumer(e Consumer) (*document.Node, error) {
	n, err := document.Marshal(e)
	if err != nil {
		return nil, err
	}
	keys := func() (*document.Node, error) {
		return writeList(w.keys[e.ID], func(k Key) (*document.Node, error) {
			k.Consumer = nil
			return document.Marshal(k)
		})
	}
	if err := putList(n, "keyauth_credentials", keys); err != nil {
		return nil, err
	}
	return n, w.putPlugins(n, e.ID)
}

func (w *writer) upstream(e Upstream) (*document.Node, error) {
	n, err := document.Marshal(e)
	if err != nil {
		return nil, err
	}
	return n, putList(n, "targets", func() (*document.Node, error) {
		return writeList(w.targets[e.ID], func(t Target) (*document.Node, error) {
			t.Upstream = nil
			return document.Marshal(t)
		})
	})
}
