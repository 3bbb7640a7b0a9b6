package apimgmt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// withSecrets puts stored secrets in the place of the redacted ones of an upload: those
// of the same version, or else of the one that stands for the enabler.
func (p *Publisher) withSecrets(ctx context.Context, c *candidate, before record) (entity.Config, error) {
	redacted := slices.ContainsFunc(c.config.Plugins, func(e entity.Plugin) bool {
		return strings.Contains(string(e.Config), entity.Redaction)
	})
	if !redacted {
		return c.config, nil
	}
	older := before.find(c.definition.Version())
	if older == nil {
		older = before.current()
	}
	var kept entity.Config
	prefix := c.prefix
	if older != nil {
		content, err := p.files.content(ctx, *older)
		if err != nil {
			return entity.Config{}, fmt.Errorf("%s %q: %w", opPublish, c.Enabler, err)
		}
		kept, prefix = content.Config, versionPrefix(c.key, older.Version)
	}
	merged, err := keepSecrets(c.config, c.prefix, kept, prefix)
	if err != nil {
		return entity.Config{}, invalid(opPublish, c.Enabler, "definition", err)
	}
	return merged, nil
}

// keepSecrets puts the secrets of an older version of an enabler in the place of
// redacted ones. Entities of the two are the same if their names are, without the
// prefixes.
func keepSecrets(next entity.Config, prefix string, older entity.Config, olderPrefix string) (entity.Config, error) {
	kept := map[string]entity.Plugin{}
	places := secretPlaces(older, olderPrefix)
	for _, plugin := range older.Plugins {
		kept[plugin.Name+" "+places[onID(plugin)]] = plugin
	}
	places = secretPlaces(next, prefix)
	merged := next.Clone()
	var faults []error
	for i := range merged.Plugins {
		plugin := &merged.Plugins[i]
		place := places[onID(*plugin)]
		config, err := entity.KeepSecrets(plugin.Config, kept[plugin.Name+" "+place].Config)
		if err != nil {
			faults = append(faults, fmt.Errorf("x-kong-plugin-%s on %s: %w", plugin.Name, strings.TrimSpace(place), err))
			continue
		}
		plugin.Config = config
	}
	return merged, errors.Join(faults...)
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

// secretPlaces names services and routes, by id, without the prefix of the version.
func secretPlaces(c entity.Config, prefix string) map[string]string {
	places := map[string]string{}
	for _, e := range c.Services {
		places[e.ID] = "service " + strings.TrimPrefix(e.Name, prefix)
	}
	for _, e := range c.Routes {
		places[e.ID] = "route " + strings.TrimPrefix(e.Name, prefix)
	}
	return places
}
