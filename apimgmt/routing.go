package apimgmt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// routing computes what the gateway is to serve of the catalogue: the desired state, with
// which reconciliation compares what the gateway serves.
type routing struct {
	files   *files
	gateway Gateway
}

// contentFunc returns what the gateway serves of a version.
type contentFunc func(context.Context, edition) (*content, error)

// desired is what the gateway is to serve of an enabler.
func (g *routing) desired(ctx context.Context, r record) (entity.Config, error) {
	return g.desiredVersions(ctx, r, g.files.content)
}

// desiredVersions is desired with the contents of versions from a function.
func (g *routing) desiredVersions(ctx context.Context, r record, loadContent contentFunc) (entity.Config, error) {
	var all entity.Config
	if r.Removed != nil {
		return all, nil
	}
	var base entity.Normal
	for i, e := range r.routed() {
		c, err := loadContent(ctx, e)
		if err != nil {
			return entity.Config{}, fmt.Errorf("enabler %q: %w", r.Enabler, err)
		}
		if i == 0 {
			base = c.normal
		}
		one := c.normal.Shared()
		if e.State == Deprecated {
			kinds, err := g.gateway.Kinds(ctx)
			if err != nil {
				return entity.Config{}, fmt.Errorf("enabler %q: list the plugins of the gateway: %w", r.Enabler, err)
			}
			notice, err := e.notice(one, kinds)
			if err != nil {
				return entity.Config{}, fmt.Errorf("enabler %q: %w", r.Enabler, err)
			}
			one.Plugins = slices.Concat(one.Plugins, notice)
		}
		all = union(all, one)
	}
	whole, err := base.With(all)
	if err != nil {
		return entity.Config{}, fmt.Errorf("enabler %q: %w", r.Enabler, err)
	}
	return whole.Config(), nil
}

// union is the entities of two configurations as they are.
func union(a, b entity.Config) entity.Config {
	return entity.Config{
		Services:  slices.Concat(a.Services, b.Services),
		Routes:    slices.Concat(a.Routes, b.Routes),
		Plugins:   slices.Concat(a.Plugins, b.Plugins),
		Consumers: slices.Concat(a.Consumers, b.Consumers),
		Keys:      slices.Concat(a.Keys, b.Keys),
		Upstreams: slices.Concat(a.Upstreams, b.Upstreams),
		Targets:   slices.Concat(a.Targets, b.Targets),
	}
}

// prepare completes a change of one version of an enabler with what the gateway is to
// serve after it. Other versions of the enabler that have a route in common with the
// version become sunset; routes in common with other enablers are conflicts. uploaded is
// the content of the version if it is not stored yet, or nil.
func (g *routing) prepare(ctx context.Context, at *snapshot, c *change, version string, uploaded *content) error {
	desired := &c.desired
	e := desired.find(version)
	loadContent := contentFunc(g.files.content)
	if uploaded != nil && e != nil {
		upload := e.Upload
		loadContent = func(ctx context.Context, one edition) (*content, error) {
			if one.Upload == upload {
				return uploaded, nil
			}
			return g.files.content(ctx, one)
		}
	}
	served, err := g.served(ctx, opPublish, c)
	if err != nil {
		return err
	}
	if e != nil && e.State.Routed() {
		own, err := loadContent(ctx, *e)
		if err != nil {
			return err
		}
		if err := g.supersede(ctx, at, c, version, own); err != nil {
			return err
		}
		if c.conflicts, err = g.conflicts(ctx, at, c.key, own, served); err != nil {
			return err
		}
	}
	c.config, err = g.desiredVersions(ctx, *desired, loadContent)
	if errors.Is(err, entity.ErrInvalid) || errors.Is(err, entity.ErrConflict) {
		return refused(opPublish, desired.Enabler, err)
	}
	if err != nil {
		return fmt.Errorf("%s %q: %w", opPublish, desired.Enabler, err)
	}
	return nil
}

// served returns what the gateway serves, and notes whether others have attached something to what it
// serves of the enabler. A change that leaves the gateway alone reads nothing.
func (g *routing) served(ctx context.Context, op string, c *change) (entity.Config, error) {
	if !c.routing {
		return entity.Config{}, nil
	}
	served, err := g.gateway.Config(ctx)
	if err != nil {
		return entity.Config{}, refused(op, c.desired.Enabler, err)
	}
	c.attached = !served.Attached(ownerTag(c.key)).Empty()
	return served, nil
}

// plan completes a prepared change with what the gateway changes, or refuses it as the
// gateway would.
func (g *routing) plan(ctx context.Context, op string, c *change) (err error) {
	if c.plan, err = g.gateway.Plan(ctx, ownerTag(c.key), c.config); err != nil {
		return refused(op, c.desired.Enabler, err)
	}
	return nil
}

// supersede makes the other versions of the enabler sunset that have a route in common
// with a version.
func (g *routing) supersede(ctx context.Context, at *snapshot, c *change, version string, own *content) error {
	for i := range c.desired.Versions {
		other := &c.desired.Versions[i]
		if other.Version == version || !other.State.Routed() {
			continue
		}
		content, err := g.files.content(ctx, *other)
		if err != nil {
			return err
		}
		if len(own.index.Conflicts(content.index)) > 0 {
			other.State = Sunset
			other.Updated = c.desired.Updated
			other.Serial = at.head.Serial + 1
			c.superseded = append(c.superseded, other.Version)
		}
	}
	return nil
}

// conflicts lists the routes that a version has in common with other enablers of the
// catalogue, whatever the gateway serves of them at the moment, and with routes that the
// gateway has from elsewhere. It uses the memory of served.
func (g *routing) conflicts(ctx context.Context, at *snapshot, key string, own *content, served entity.Config) ([]Conflict, error) {
	var found []Conflict
	add := func(enabler string, list []entity.Conflict) {
		for _, c := range list {
			path, _, _ := entity.CutRest(c.Path)
			found = append(found, Conflict{Route: c.Route, Path: path, Other: c.Other, Enabler: enabler})
		}
	}
	for _, other := range at.keys {
		if other == key {
			continue
		}
		r := at.records[other]
		for _, e := range r.routed() {
			content, err := g.files.content(ctx, e)
			if err != nil {
				return nil, fmt.Errorf("enabler %q: %w", r.Enabler, err)
			}
			add(r.Enabler, own.index.Conflicts(content.index))
		}
	}
	foreign := unowned(served)
	add("", own.index.Conflicts(entity.NewRouteIndex(foreign)))
	if _, err := foreign.Replace(ownerTag(key), own.Config); errors.Is(err, entity.ErrConflict) {
		return nil, &Error{Op: opPublish, Key: at.name(key), Kind: ErrConflict, Text: err.Error(), Cause: err}
	}
	return found, nil
}

// unowned is what a gateway serves that no enabler has published. It uses the memory of
// c.
func unowned(c entity.Config) entity.Config {
	owned := func(m entity.Meta) bool {
		return slices.ContainsFunc(m.Tags, func(tag string) bool { return strings.HasPrefix(tag, ownerPrefix) })
	}
	c.Services = slices.DeleteFunc(c.Services, func(e entity.Service) bool { return owned(e.Meta) })
	c.Routes = slices.DeleteFunc(c.Routes, func(e entity.Route) bool { return owned(e.Meta) })
	c.Upstreams = slices.DeleteFunc(c.Upstreams, func(e entity.Upstream) bool { return owned(e.Meta) })
	// These have no routes and no names in common with what is published, and may refer to
	// what is left out.
	c.Plugins = nil
	c.Targets = nil
	c.Consumers = nil
	c.Keys = nil
	services := map[string]bool{}
	for _, e := range c.Services {
		services[e.ID] = true
	}
	for i := range c.Routes {
		if ref := c.Routes[i].Service; ref != nil && !services[ref.ID] {
			c.Routes[i].Service = nil
		}
	}
	return c
}
