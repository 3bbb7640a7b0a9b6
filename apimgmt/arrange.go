package apimgmt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// arrange decides what the gateway serves of an enabler after a change of one of
// its versions: others that are in its way end, those of other enablers are
// conflicts. given is what is served of the version; nil means what is stored.
func (p *Publisher) arrange(ctx context.Context, at *snapshot, made *plan, version string, given *content) error {
	after := &made.after
	e := after.find(version)
	contentOf := p.content
	if given != nil && e != nil { // which is not stored yet
		upload := e.Upload
		contentOf = func(ctx context.Context, one edition) (*content, error) {
			if one.Upload == upload {
				return given, nil
			}
			return p.content(ctx, one)
		}
	}
	if e != nil && e.State.Routed() {
		own, err := contentOf(ctx, *e)
		if err != nil {
			return err
		}
		for i := range after.Versions {
			other := &after.Versions[i]
			if other.Version == version || !other.State.Routed() {
				continue
			}
			there, err := p.content(ctx, *other)
			if err != nil {
				return err
			}
			if len(own.index.Conflicts(there.index)) > 0 {
				other.State, other.Updated, other.Serial = Sunset, after.Updated, at.catalogue.Serial+1
				made.superseded = append(made.superseded, other.Version)
			}
		}
		if made.conflicts, err = p.conflicts(ctx, at, made.key, own); err != nil {
			return err
		}
	}
	var err error
	made.config, err = p.serveOf(ctx, *after, contentOf)
	if errors.Is(err, entity.ErrInvalid) || errors.Is(err, entity.ErrConflict) {
		return refused(opPublish, after.Enabler, err)
	}
	if err != nil {
		return fmt.Errorf("%s %q: %w", opPublish, after.Enabler, err)
	}
	return nil
}

// conflicts lists the routes that others have in common with a configuration: other
// enablers by the catalogue, whatever the gateway serves of them at the moment, and
// what somebody has put into the gateway by hand.
func (p *Publisher) conflicts(ctx context.Context, at *snapshot, key string, own *content) ([]Conflict, error) {
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
			there, err := p.content(ctx, e)
			if err != nil {
				return nil, fmt.Errorf("enabler %q: %w", r.Enabler, err)
			}
			add(r.Enabler, own.index.Conflicts(there.index))
		}
	}
	served, err := p.gateway.Config(ctx)
	if err != nil {
		return nil, refused(opPublish, at.name(key), err)
	}
	foreign := byHand(served)
	add("", own.index.Conflicts(entity.NewRouteIndex(foreign)))
	if _, err := foreign.Replace(ownerOf(key), own.Config); errors.Is(err, entity.ErrConflict) {
		return nil, &Error{Op: opPublish, Key: at.name(key), Kind: ErrConflict, Text: err.Error(), Cause: err}
	}
	return found, nil
}

// name is how an enabler is called, or its key.
func (s *snapshot) name(key string) string {
	if r, ok := s.records[key]; ok {
		return r.Enabler
	}
	return key
}

// byHand leaves what no enabler has published. The configuration is the caller's, and
// is taken over.
func byHand(c entity.Config) entity.Config {
	owned := func(m entity.Meta) bool {
		return slices.ContainsFunc(m.Tags, func(tag string) bool { return strings.HasPrefix(tag, ownerPrefix) })
	}
	c.Services = slices.DeleteFunc(c.Services, func(e entity.Service) bool { return owned(e.Meta) })
	c.Routes = slices.DeleteFunc(c.Routes, func(e entity.Route) bool { return owned(e.Meta) })
	c.Upstreams = slices.DeleteFunc(c.Upstreams, func(e entity.Upstream) bool { return owned(e.Meta) })
	// These are of no concern here, and may refer to what is left out.
	c.Plugins, c.Targets, c.Consumers, c.Keys = nil, nil, nil, nil
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
