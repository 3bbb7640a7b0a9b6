package kong

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

const (
	pageSize = 1000 // the most that Kong gives
	// maxEntities bounds what is read of a kind.
	maxEntities = 200_000
)

// held is what a Kong has.
type held struct {
	// config is what can be said as one, plugins without what has its default.
	config entity.Config
	// raw are all entities, by their ids, as Kong wrote them.
	raw map[entity.Kind]map[string]fields
}

// load reads everything that a Kong has. It is not one moment that is read: what
// refers to something that came or went meanwhile is left out.
func (g *Gateway) load(ctx context.Context, n node) (held, error) {
	h := held{raw: map[entity.Kind]map[string]fields{}}
	for _, kind := range kinds() {
		list, err := g.list(ctx, kind, h)
		if err != nil {
			return held{}, err
		}
		h.raw[kind] = make(map[string]fields, len(list))
		for _, f := range list {
			if _, twice := h.raw[kind][f.text("id")]; !twice { // pages shift while others write
				h.raw[kind][f.text("id")] = f
			}
		}
	}
	config := entity.Config{}
	for _, kind := range kinds() {
		for _, id := range slices.Sorted(maps.Keys(h.raw[kind])) {
			if err := g.put(ctx, n, &config, kind, h.raw[kind][id]); err != nil {
				return held{}, fmt.Errorf("read %s %q: %w", kind, id, err)
			}
		}
	}
	var err error
	h.config, err = g.tidy(config)
	return h, err
}

// put adds what Kong wrote to a configuration. Services of publishes under way
// do not count, nor what cannot be said.
func (g *Gateway) put(ctx context.Context, n node, config *entity.Config, kind entity.Kind, raw fields) error {
	if kind == entity.KindService && slices.Contains(raw.texts("tags"), lockTag) {
		return nil
	}
	f, err := n.decode(kind, raw)
	if err != nil {
		return err
	}
	if kind == entity.KindPlugin {
		settings, _ := f["config"].(map[string]any)
		if f["config"], err = g.schemas.bare(ctx, f.text("name"), settings); err != nil {
			return err
		}
	}
	return add(config, kind, f)
}

// list reads all entities of a kind.
func (g *Gateway) list(ctx context.Context, kind entity.Kind, h held) ([]fields, error) {
	if kind != entity.KindTarget {
		list, err := g.pages(ctx, kind, listPath(kind))
		if kind == entity.KindKey && isStatus(err, http.StatusNotFound) {
			return nil, nil // the plugin key-auth is not there
		}
		return list, err
	}
	var all []fields
	for _, id := range slices.Sorted(maps.Keys(h.raw[entity.KindUpstream])) {
		list, err := g.pages(ctx, kind, createPath(kind, id))
		if isStatus(err, http.StatusNotFound) { // it is gone meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// pages reads a listing to its end.
func (g *Gateway) pages(ctx context.Context, kind entity.Kind, path string) ([]fields, error) {
	do := "list " + string(kind) + "s"
	var all []fields
	query := url.Values{"size": {strconv.Itoa(pageSize)}}
	for {
		var page struct {
			Data   []fields `json:"data"`
			Offset string   `json:"offset"`
		}
		if err := g.client.make(ctx, call{do: do, method: http.MethodGet, path: pathWithQuery(path, query), answer: &page,
			secret: kind == entity.KindKey}); err != nil {
			return nil, err
		}
		all = append(all, page.Data...)
		switch {
		case page.Offset == "":
			return all, nil
		case page.Offset == query.Get("offset"):
			return nil, fmt.Errorf("%s: %w: page %q follows itself", do, ErrAnswer, page.Offset)
		case len(all) > maxEntities:
			return nil, fmt.Errorf("%s: %w: there are more than %d", do, ErrAnswer, maxEntities)
		}
		query.Set("offset", page.Offset)
	}
}

// tidy normalises a configuration, and leaves out of it what breaks a rule of
// [entity.Config], as others' routes of TCP do, with what refers to it.
func (g *Gateway) tidy(config entity.Config) (entity.Config, error) {
	for {
		tidied, err := config.Merge(entity.Config{})
		if err == nil {
			return tidied, nil
		}
		faulty := map[entity.Kind]map[string]bool{}
		faults(err, func(f *entity.FieldError) {
			if faulty[f.Kind] == nil {
				faulty[f.Kind] = map[string]bool{}
			}
			faulty[f.Kind][f.ID] = true
		})
		less := without(config, faulty)
		if count(less) == count(config) {
			return entity.Config{}, fmt.Errorf("read what Kong has: %v", err)
		}
		config = less
	}
}

// faults visits the errors of fields that an error is created from.
func faults(err error, visit func(*entity.FieldError)) {
	if field, ok := err.(*entity.FieldError); ok { //nolint:errorlint // the tree is walked here
		visit(field)
		return
	}
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		for _, one := range several.Unwrap() {
			faults(one, visit)
		}
	}
}

// without leaves out entities.
func without(config entity.Config, gone map[entity.Kind]map[string]bool) entity.Config {
	made := config.Clone()
	made.Services = slices.DeleteFunc(made.Services, func(e entity.Service) bool { return gone[entity.KindService][e.ID] })
	made.Upstreams = slices.DeleteFunc(made.Upstreams, func(e entity.Upstream) bool { return gone[entity.KindUpstream][e.ID] })
	made.Targets = slices.DeleteFunc(made.Targets, func(e entity.Target) bool { return gone[entity.KindTarget][e.ID] })
	made.Consumers = slices.DeleteFunc(made.Consumers, func(e entity.Consumer) bool { return gone[entity.KindConsumer][e.ID] })
	made.Routes = slices.DeleteFunc(made.Routes, func(e entity.Route) bool { return gone[entity.KindRoute][e.ID] })
	made.Plugins = slices.DeleteFunc(made.Plugins, func(e entity.Plugin) bool { return gone[entity.KindPlugin][e.ID] })
	made.Keys = slices.DeleteFunc(made.Keys, func(e entity.Key) bool { return gone[entity.KindKey][e.ID] })
	return made
}

func count(c entity.Config) int {
	return len(c.Services) + len(c.Upstreams) + len(c.Targets) + len(c.Consumers) + len(c.Routes) + len(c.Plugins) + len(c.Keys)
}
