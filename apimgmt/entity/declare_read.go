package entity

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/apimgmt/internal/document"
)

// ErrDeclaration is wrapped by the error of a text that is not a declarative configuration.
var ErrDeclaration = errors.New("entity: not a declarative configuration")

// ErrLimit is wrapped by the error of a text that exceeds a limit.
var ErrLimit = errors.New("entity: limit exceeded")

// Limits bound a declarative configuration. Zero fields mean the defaults.
type Limits struct {
	// Bytes is the greatest length of the text; 8 MiB.
	Bytes int
	// Depth is the greatest depth of nested values; 100.
	Depth int
	// Values is the greatest number of values, what aliases of YAML stand for
	// included; 500000.
	Values int
}

// Read reads a configuration in Kong's declarative format, JSON or YAML, and
// normalises it. The "_format_version" is "1.1", "2.1" or "3.0"; before 3.0 a path
// of a route that has more than plain characters is a regular expression, and
// gets the "~" of Kong 3. Entities are nested (routes in services, plugins in what
// they are on, keyauth_credentials in consumers, targets in upstreams) or flat
// with references by id or name.
//
// "_transform" is accepted and changes nothing, because nothing of what is read
// is stored otherwise than it is written. "_info.select_tags" are added to every
// entity, as Kong's command line does. Other fields that are not known are
// errors, as are sections of kinds that this package does not have.
//
// The error is either a [*position.Error] with the place, which wraps
// [ErrDeclaration], or one of [Config.Normalize].
func Read(data []byte, limits Limits) (Config, error) {
	root, _, err := document.Parse(data, document.Limits(limits))
	if errors.Is(err, document.ErrLimit) {
		return Config{}, fmt.Errorf("%w: %w: %w", ErrDeclaration, ErrLimit, err)
	}
	if err != nil {
		return Config{}, fmt.Errorf("%w: %w", ErrDeclaration, err)
	}
	r := &reader{}
	if err := r.root(root); err != nil {
		return Config{}, fmt.Errorf("%w: %w", ErrDeclaration, err)
	}
	r.finish()
	config, err := r.config.Normalize()
	if err != nil {
		return Config{}, fmt.Errorf("read a declarative configuration: %w", err)
	}
	return config, nil
}

// reader gathers the entities of a declarative configuration.
type reader struct {
	config Config
	old    bool // paths are in the style of Kong 2
	tags   []string
}

func isUUID(text string) bool {
	_, err := uuid.Parse(text)
	return err == nil && len(text) == 36
}

func (r *reader) root(n *document.Node) error {
	if n.Kind != document.Object {
		return n.Errorf("an object is needed, this is %s", n.Kind)
	}
	if err := r.version(n); err != nil {
		return err
	}
	if services := n.Get("services"); services != nil { // before what refers to them by name
		if err := r.section("services", services); err != nil {
			return err
		}
	}
	for _, member := range n.Members {
		if member.Key == "services" {
			continue
		}
		if err := r.section(member.Key, member.Value); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) version(n *document.Node) error {
	version := n.Get("_format_version")
	if version == nil {
		return n.Errorf("the field \"_format_version\" is required")
	}
	switch version.Text {
	case "1.1", "2.1":
		r.old = true
	case "3.0":
	default:
		return version.Errorf("the version %q is not one of \"1.1\", \"2.1\" and \"3.0\"", version.Text)
	}
	return nil
}

func (r *reader) section(key string, n *document.Node) error {
	if n.Kind == document.Null {
		return nil
	}
	switch key {
	case "_format_version", "_comment", "_ignore":
		return nil
	case "_transform":
		if n.Kind != document.Bool {
			return n.Errorf("a boolean is needed, this is %s", n.Kind)
		}
		return nil
	case "_info":
		return r.info(n)
	case "services":
		return each(n, r.service)
	case "routes":
		return each(n, func(n *document.Node) error { return r.route(n, nil) })
	case "plugins":
		return each(n, func(n *document.Node) error { return r.plugin(n, Plugin{}) })
	case "consumers":
		return each(n, r.consumer)
	case "keyauth_credentials":
		return each(n, func(n *document.Node) error { return r.key(n, nil) })
	case "upstreams":
		return each(n, r.upstream)
	case "targets":
		return each(n, func(n *document.Node) error { return r.target(n, nil) })
	}
	return n.Errorf("there is no such field")
}

// info reads what the command line of Kong notes in its files.
func (r *reader) info(n *document.Node) error {
	var info struct {
		SelectTags []string `json:"select_tags"`
	}
	if err := decodeInto(n, reflect.ValueOf(&info).Elem(), nil); err != nil {
		return err
	}
	r.tags = info.SelectTags
	return nil
}

func each(n *document.Node, read func(*document.Node) error) error {
	if n.Kind != document.Array {
		return n.Errorf("an array is needed, this is %s", n.Kind)
	}
	for _, item := range n.Items {
		if err := read(item); err != nil {
			return err
		}
	}
	return nil
}

// parentRef gives an entity that has others within it its id, to be referred to by.
func parentRef(m *Meta, alone Config) *Ref {
	if m.ID == "" {
		m.ID = declaredID(alone)
	}
	return &Ref{ID: m.ID}
}

func (r *reader) service(n *document.Node) error {
	var e Service
	var routes, plugins *document.Node
	err := decodeInto(n, reflect.ValueOf(&e).Elem(), func(key string, value *document.Node) (bool, error) {
		switch key {
		case "routes":
			routes = value
		case "plugins":
			plugins = value
		default:
			return false, nil
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	ref := parentRef(&e.Meta, Config{Services: []Service{e}})
	r.config.Services = append(r.config.Services, e)
	if routes != nil {
		if err := each(routes, func(n *document.Node) error { return r.route(n, ref) }); err != nil {
			return err
		}
	}
	return r.plugins(plugins, Plugin{Service: ref})
}

// declaredID is the id that normalising gives the only entity of a configuration. It is the same whether or not the entity is valid.
func declaredID(c Config) string {
	n := newNormalizer(c, &Config{})
	n.services()
	n.upstreams()
	n.consumers()
	n.routes()
	for _, list := range n.config.identities() {
		for _, e := range list {
			return e.meta.ID
		}
	}
	return ""
}

func (r *reader) route(n *document.Node, service *Ref) error {
	var e Route
	var plugins *document.Node
	err := decodeInto(n, reflect.ValueOf(&e).Elem(), func(key string, value *document.Node) (bool, error) {
		if key == "plugins" {
			plugins = value
		}
		return key == "plugins", nil
	})
	if err != nil {
		return err
	}
	if service != nil {
		if e.Service != nil {
			return n.Get("service").Errorf("a route within a service does not name one")
		}
		e.Service = clonePointer(service)
	} else if e.Service != nil && e.Service.ID == "" {
		for _, known := range r.config.Services { // an id that is derived takes the service's in
			if known.Name == e.Service.Name {
				e.Service = &Ref{ID: known.ID}
			}
		}
	}
	if r.old {
		for i, path := range e.Paths {
			e.Paths[i] = modernPath(path)
		}
	}
	ref := parentRef(&e.Meta, Config{Routes: []Route{e}})
	r.config.Routes = append(r.config.Routes, e)
	return r.plugins(plugins, Plugin{Route: ref})
}

func (r *reader) plugins(n *document.Node, on Plugin) error {
	if n == nil {
		return nil
	}
	return each(n, func(n *document.Node) error { return r.plugin(n, on) })
}

func (r *reader) plugin(n *document.Node, on Plugin) error {
	var e Plugin
	if err := decodeInto(n, reflect.ValueOf(&e).Elem(), nil); err != nil {
		return err
	}
	for _, place := range []struct {
		field string
		has   **Ref
		is    *Ref
	}{{"service", &e.Service, on.Service}, {"route", &e.Route, on.Route}, {"consumer", &e.Consumer, on.Consumer}} {
		if place.is == nil {
			continue
		}
		if *place.has != nil {
			return n.Get(place.field).Errorf("a plugin within a %s does not name one", place.field)
		}
		*place.has = clonePointer(place.is)
	}
	r.config.Plugins = append(r.config.Plugins, e)
	return nil
}

func (r *reader) consumer(n *document.Node) error {
	var e Consumer
	var keys, plugins *document.Node
	err := decodeInto(n, reflect.ValueOf(&e).Elem(), func(key string, value *document.Node) (bool, error) {
		switch key {
		case "keyauth_credentials":
			keys = value
		case "plugins":
			plugins = value
		default:
			return false, nil
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	ref := parentRef(&e.Meta, Config{Consumers: []Consumer{e}})
	r.config.Consumers = append(r.config.Consumers, e)
	if keys != nil {
		if err := each(keys, func(n *document.Node) error { return r.key(n, ref) }); err != nil {
			return err
		}
	}
	return r.plugins(plugins, Plugin{Consumer: ref})
}

func (r *reader) key(n *document.Node, consumer *Ref) error {
	var e Key
	if err := decodeInto(n, reflect.ValueOf(&e).Elem(), nil); err != nil {
		return err
	}
	if consumer != nil {
		if e.Consumer != nil {
			return n.Get("consumer").Errorf("a key within a consumer does not name one")
		}
		e.Consumer = clonePointer(consumer)
	}
	r.config.Keys = append(r.config.Keys, e)
	return nil
}

func (r *reader) upstream(n *document.Node) error {
	var e Upstream
	var targets *document.Node
	err := decodeInto(n, reflect.ValueOf(&e).Elem(), func(key string, value *document.Node) (bool, error) {
		if key == "targets" {
			targets = value
		}
		return key == "targets", nil
	})
	if err != nil {
		return err
	}
	ref := parentRef(&e.Meta, Config{Upstreams: []Upstream{e}})
	r.config.Upstreams = append(r.config.Upstreams, e)
	if targets == nil {
		return nil
	}
	return each(targets, func(n *document.Node) error { return r.target(n, ref) })
}

func (r *reader) target(n *document.Node, upstream *Ref) error {
	var e Target
	if err := decodeInto(n, reflect.ValueOf(&e).Elem(), nil); err != nil {
		return err
	}
	if upstream != nil {
		if e.Upstream != nil {
			return n.Get("upstream").Errorf("a target within an upstream does not name one")
		}
		e.Upstream = clonePointer(upstream)
	}
	r.config.Targets = append(r.config.Targets, e)
	return nil
}

// finish adds the tags that all entities have.
func (r *reader) finish() {
	if len(r.tags) == 0 {
		return
	}
	for _, list := range r.config.identities() {
		for _, e := range list {
			for _, tag := range r.tags {
				if !slices.Contains(e.meta.Tags, tag) {
					e.meta.Tags = append(e.meta.Tags, tag)
				}
			}
		}
	}
}
