package apimgmt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/storage"
)

// The blobs of an upload; see the package documentation.
const (
	filePrefix     = "file/"
	shownPrefix    = "shown/"
	entitiesPrefix = "entities/"
)

func blobPrefixes() []string { return []string{filePrefix, shownPrefix, entitiesPrefix} }

// store writes one blob.
func (p *Publisher) store(ctx context.Context, key string, data []byte) (storage.BlobInfo, error) {
	w, err := p.blobs.Create(ctx, key)
	if err != nil {
		return storage.BlobInfo{}, fmt.Errorf("write blob %q: %w", key, err)
	}
	defer func() { _ = w.Abort() }()
	if _, err := w.Write(data); err != nil {
		return storage.BlobInfo{}, fmt.Errorf("write blob %q: %w", key, err)
	}
	info, err := w.Commit(ctx)
	if err != nil {
		return storage.BlobInfo{}, fmt.Errorf("write blob %q: %w", key, err)
	}
	return info, nil
}

// discard deletes the blobs of uploads that nothing refers to. What it leaves
// behind, Run deletes later.
func (p *Publisher) discard(ctx context.Context, uploads []string) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, upload := range uploads {
		for _, prefix := range blobPrefixes() {
			if err := p.blobs.Delete(ctx, prefix+upload); err != nil && !errors.Is(err, storage.ErrNotFound) {
				p.log.Warn("a blob could not be deleted yet", "key", prefix+upload, "error", err)
				return
			}
		}
	}
}

// content reads what the gateway serves of a version. What it returns must not
// be changed.
func (p *Publisher) content(ctx context.Context, e edition) (*content, error) {
	p.mu.Lock()
	made := p.contents[e.Upload]
	p.mu.Unlock()
	if made != nil {
		return made, nil
	}
	reader, err := p.blobs.Open(ctx, entitiesPrefix+e.Upload)
	if err != nil {
		return nil, fmt.Errorf("read the entities of version %q: %w", e.Version, err)
	}
	defer func() { _ = reader.Close() }()
	data, err := io.ReadAll(reader)
	if err != nil {
		return nil, fmt.Errorf("read the entities of version %q: %w", e.Version, err)
	}
	made = &content{}
	if err = json.Unmarshal(data, made); err == nil {
		err = made.prepare()
	}
	if err != nil {
		return nil, fmt.Errorf("read the entities of version %q: %w", e.Version, err)
	}
	if e.State.Routed() {
		p.mu.Lock()
		p.contents[e.Upload] = made
		p.mu.Unlock()
	}
	return made, nil
}

// serve is what the gateway serves of an enabler.
func (p *Publisher) serve(ctx context.Context, r record) (entity.Config, error) {
	return p.serveOf(ctx, r, p.content)
}

// serveOf is serve, of versions whose contents are told by a function.
func (p *Publisher) serveOf(ctx context.Context, r record, contentOf func(context.Context, edition) (*content, error)) (entity.Config, error) {
	var all entity.Config
	if r.Removed != nil {
		return all, nil
	}
	var base entity.Normal
	for i, e := range r.routed() {
		c, err := contentOf(ctx, e)
		if err != nil {
			return entity.Config{}, fmt.Errorf("enabler %q: %w", r.Enabler, err)
		}
		if i == 0 {
			base = c.normal
		}
		one := c.normal.Shared()
		if e.State == Deprecated {
			kinds, err := p.gateway.Kinds(ctx)
			if err != nil {
				return entity.Config{}, fmt.Errorf("enabler %q: ask the gateway for its plugins: %w", r.Enabler, err)
			}
			notice, err := e.notice(one, kinds)
			if err != nil {
				return entity.Config{}, fmt.Errorf("enabler %q: %w", r.Enabler, err)
			}
			one.Plugins = slices.Concat(one.Plugins, notice)
		}
		all = union(all, one)
	}
	made, err := base.With(all)
	if err != nil {
		return entity.Config{}, fmt.Errorf("enabler %q: %w", r.Enabler, err)
	}
	return made.Config(), nil
}

// union puts two configurations together as they are.
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

// keepSecrets puts the secrets of an older version of an enabler in the place of
// redacted ones. Entities of the two are the same if their names are, but for the
// prefix.
func keepSecrets(next entity.Config, prefix string, older entity.Config, olderPrefix string) (entity.Config, error) {
	there := map[string]entity.Plugin{}
	places := placesOf(older, olderPrefix)
	for _, plugin := range older.Plugins {
		there[plugin.Name+" "+places[onID(plugin)]] = plugin
	}
	places = placesOf(next, prefix)
	made := next.Clone()
	var faults []error
	for i := range made.Plugins {
		plugin := &made.Plugins[i]
		place := places[onID(*plugin)]
		config, err := entity.KeepSecrets(plugin.Config, there[plugin.Name+" "+place].Config)
		if err != nil {
			faults = append(faults, fmt.Errorf("x-kong-plugin-%s on %s: %w", plugin.Name, strings.TrimSpace(place), err))
			continue
		}
		plugin.Config = config
	}
	return made, errors.Join(faults...)
}

func onID(p entity.Plugin) string {
	switch {
	case p.Route != nil:
		return p.Route.ID
	case p.Service != nil:
		return p.Service.ID
	}
	return ""
}

// placesOf names services and routes, by id, without the prefix of the version.
func placesOf(c entity.Config, prefix string) map[string]string {
	made := map[string]string{}
	for _, e := range c.Services {
		made[e.ID] = "service " + strings.TrimPrefix(e.Name, prefix)
	}
	for _, e := range c.Routes {
		made[e.ID] = "route " + strings.TrimPrefix(e.Name, prefix)
	}
	return made
}
