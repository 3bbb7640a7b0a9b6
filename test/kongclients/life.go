package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/kong/go-kong/kong"
)

// trial notes what went wrong.
type trial struct{ faults []error }

func (t *trial) must(what string, err error) {
	if err != nil {
		t.faults = append(t.faults, fmt.Errorf("%s: %w", what, err))
	}
}

func (t *trial) equal(what string, want, got any) {
	if !reflect.DeepEqual(want, got) {
		t.faults = append(t.faults, fmt.Errorf("%s: %v is not %v", what, got, want))
	}
}

// status demands that a request was refused with a status.
func (t *trial) status(what string, want int, err error) {
	var refusal *kong.APIError
	if !errors.As(err, &refusal) {
		t.faults = append(t.faults, fmt.Errorf("%s: got %v instead of status %d", what, err, want))
		return
	}
	t.equal(what, want, refusal.Code())
}

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

const chosen = "3c3a7f0e-5b5c-4a5e-9f6a-6a1f2b3c4d5e"

// life leads every kind of entity through its life.
func life(ctx context.Context, c *kong.Client) error {
	t := &trial{}
	t.node(ctx, c)
	t.services(ctx, c)
	t.routes(ctx, c)
	t.consumers(ctx, c)
	t.plugins(ctx, c)
	t.upstreams(ctx, c)
	t.lists(ctx, c)
	t.declared(ctx, c)
	return errors.Join(t.faults...)
}

func (t *trial) node(ctx context.Context, c *kong.Client) {
	root, err := c.Root(ctx)
	t.must("root", err)
	version, err := kong.ParseSemanticVersion(kong.VersionFromInfo(root))
	t.must("version", err)
	t.equal("major version", uint64(3), version.Major())
	info, err := c.Info.Get(ctx)
	t.must("info", err)
	t.equal("in memory", false, err == nil && info.Configuration.IsInMemory())
	status, err := c.Status(ctx)
	t.must("status", err)
	t.equal("database reachable", true, err == nil && status.Database.Reachable)
	has, err := c.Tags.Exists(ctx)
	t.must("tags", err)
	t.equal("tags", true, has)
	for _, name := range []string{"services", "routes", "plugins", "consumers", "upstreams", "targets"} {
		_, err := c.Schemas.Get(ctx, name)
		t.must("schema of "+name, err)
	}
}

func (t *trial) services(ctx context.Context, c *kong.Client) {
	s, err := c.Services.Create(ctx, &kong.Service{Name: kong.String("lamps"), Host: kong.String("lamps.example"),
		Tags: kong.StringSlice("a", "b")})
	t.must("create service", err)
	if err != nil {
		return
	}
	t.equal("default of retries", 5, *s.Retries)
	t.equal("default of port", 80, *s.Port)
	_, err = c.Services.Create(ctx, &kong.Service{Name: kong.String("lamps"), Host: kong.String("h")})
	t.status("create the same service again", http.StatusConflict, err)
	_, err = c.Services.Create(ctx, &kong.Service{Name: kong.String("x"), Host: kong.String("h"), Port: kong.Int(99999)})
	t.status("create a service with a wrong port", http.StatusBadRequest, err)
	s, err = c.Services.Update(ctx, &kong.Service{ID: s.ID, Retries: kong.Int(0)})
	t.must("update service", err)
	t.equal("retries", 0, *s.Retries)
	t.equal("host", "lamps.example", text(s.Host))
	byName, err := c.Services.Get(ctx, kong.String("lamps"))
	t.must("get service by name", err)
	t.equal("service", s, byName)
	put, err := c.Services.Create(ctx, &kong.Service{ID: kong.String(chosen), Name: kong.String("chosen"),
		URL: kong.String("https://c.example/v1")})
	t.must("create service with an id", err)
	t.equal("id", chosen, text(put.ID))
	t.must("delete service", c.Services.Delete(ctx, put.ID))
	_, err = c.Services.Get(ctx, put.ID)
	t.equal("not found", true, kong.IsNotFoundErr(err))
	t.must("delete service again", c.Services.Delete(ctx, put.ID))
}

func (t *trial) routes(ctx context.Context, c *kong.Client) {
	service, err := c.Services.Get(ctx, kong.String("lamps"))
	t.must("get service", err)
	if err != nil {
		return
	}
	lamps := service.ID
	r, err := c.Routes.CreateInService(ctx, lamps, &kong.Route{Name: kong.String("lamps"),
		Paths: kong.StringSlice("~/lamps/(?<id>[^/]+)$"), Methods: kong.StringSlice("GET")})
	t.must("create route", err)
	if err != nil {
		return
	}
	t.equal("default of protocols", kong.StringSlice("http", "https"), r.Protocols)
	t.equal("default of https_redirect_status_code", 426, *r.HTTPSRedirectStatusCode)
	r.StripPath, r.Headers = kong.Bool(false), map[string][]string{"x-kind": {"a"}}
	r, err = c.Routes.Update(ctx, r)
	t.must("update route", err)
	t.equal("strip_path", false, *r.StripPath)
	t.equal("headers", map[string][]string{"x-kind": {"a"}}, r.Headers)
	list, _, err := c.Routes.ListForService(ctx, lamps, nil)
	t.must("list routes of service", err)
	t.equal("routes of service", 1, len(list))
	_, err = c.Routes.Create(ctx, &kong.Route{Paths: kong.StringSlice("/x"),
		Service: &kong.Service{ID: kong.String(chosen)}})
	t.status("create route of no service", http.StatusBadRequest, err)
	t.status("delete a service with routes", http.StatusBadRequest, c.Services.Delete(ctx, lamps))
	valid, _, err := c.Routes.Validate(ctx, &kong.Route{Paths: kong.StringSlice("/x")})
	t.must("validate route", err)
	t.equal("valid", true, valid)
	valid, reason, err := c.Routes.Validate(ctx, &kong.Route{Paths: kong.StringSlice("~/((")})
	t.must("validate wrong route", err)
	t.equal("valid", false, valid)
	t.equal("reason", true, strings.Contains(reason, "paths"))
}

func (t *trial) consumers(ctx context.Context, c *kong.Client) {
	ann, err := c.Consumers.Create(ctx, &kong.Consumer{Username: kong.String("ann"), CustomID: kong.String("1")})
	t.must("create consumer", err)
	if err != nil {
		return
	}
	_, err = c.Consumers.Update(ctx, &kong.Consumer{ID: ann.ID, CustomID: kong.String("2")})
	t.must("update consumer", err)
	key, err := c.KeyAuths.Create(ctx, ann.Username, &kong.KeyAuth{Key: kong.String("key-of-ann")})
	t.must("create key", err)
	made, err := c.KeyAuths.Create(ctx, ann.Username, &kong.KeyAuth{})
	t.must("have a key made", err)
	t.equal("a key was made", true, len(text(made.Key)) >= 20)
	got, err := c.KeyAuths.Get(ctx, ann.Username, key.ID)
	t.must("get key", err)
	t.equal("key", key, got)
	all, err := c.KeyAuths.ListAll(ctx)
	t.must("list keys", err)
	t.equal("keys", 2, len(all))
	t.must("delete key", c.KeyAuths.Delete(ctx, ann.Username, made.ID))
}

func (t *trial) plugins(ctx context.Context, c *kong.Client) {
	lamps := kong.String("lamps")
	p, err := c.Plugins.CreateForService(ctx, lamps, &kong.Plugin{Name: kong.String("request-termination"),
		Config: kong.Configuration{"status_code": 418, "message": "no"}})
	t.must("create plugin", err)
	if err != nil {
		return
	}
	p, err = c.Plugins.Update(ctx, &kong.Plugin{ID: p.ID, Name: p.Name, Config: kong.Configuration{"status_code": 403}})
	t.must("update plugin", err)
	t.equal("merged configuration", kong.Configuration{"status_code": 403.0, "message": "no", "echo": false,
		"body": nil, "content_type": nil, "trigger": nil}, p.Config)
	_, err = c.Plugins.CreateForRoute(ctx, lamps, &kong.Plugin{Name: kong.String("request-termination"),
		Enabled: kong.Bool(false)})
	t.must("create plugin for route", err)
	list, err := c.Plugins.ListAllForService(ctx, lamps)
	t.must("list plugins of service", err)
	t.equal("plugins of service", 1, len(list))
	valid, _, err := c.Plugins.Validate(ctx, &kong.Plugin{Name: kong.String("request-termination"),
		Config: kong.Configuration{"status_code": "many"}})
	t.must("validate plugin", err)
	t.equal("valid", false, valid)
	_, err = c.Plugins.GetFullSchema(ctx, kong.String("request-termination"))
	t.must("schema of plugin", err)
	t.must("delete plugin", c.Plugins.DeleteForService(ctx, lamps, p.ID))
}

func (t *trial) upstreams(ctx context.Context, c *kong.Client) {
	pool := kong.String("pool")
	u, err := c.Upstreams.Create(ctx, &kong.Upstream{Name: pool, Healthchecks: &kong.Healthcheck{
		Passive: &kong.PassiveHealthcheck{Unhealthy: &kong.Unhealthy{HTTPFailures: kong.Int(3)}}}})
	t.must("create upstream", err)
	if err != nil {
		return
	}
	t.equal("default of slots", 10000, *u.Slots)
	t.equal("http_failures", 3, *u.Healthchecks.Passive.Unhealthy.HTTPFailures)
	target, err := c.Targets.Create(ctx, pool, &kong.Target{Target: kong.String("10.0.0.1:80")})
	t.must("create target", err)
	t.equal("default of weight", 100, *target.Weight)
	t.must("mark unhealthy", c.Targets.MarkUnhealthy(ctx, pool, target))
	health, err := c.UpstreamNodeHealth.ListAll(ctx, pool)
	t.must("health", err)
	t.equal("targets", 1, len(health))
	t.equal("health", "UNHEALTHY", text(health[0].Health))
	t.must("mark healthy", c.Targets.MarkHealthy(ctx, pool, target))
	t.must("delete target", c.Targets.Delete(ctx, pool, target.ID))
	t.must("delete upstream", c.Upstreams.Delete(ctx, pool))
}

func (t *trial) lists(ctx context.Context, c *kong.Client) {
	for i := range 25 {
		_, err := c.Services.Create(ctx, &kong.Service{Name: kong.String(fmt.Sprint("s", i)), Host: kong.String("h"),
			Tags: kong.StringSlice("all", fmt.Sprint("n", i%5))})
		t.must("create service", err)
	}
	all, err := c.Services.ListAll(ctx)
	t.must("list services", err)
	t.equal("services", 26, len(all))
	for _, filter := range []struct {
		tags []*string
		and  bool
		want int
	}{{kong.StringSlice("all"), false, 25}, {kong.StringSlice("n1", "n2"), false, 10},
		{kong.StringSlice("all", "n1"), true, 5}} {
		var found int
		for opt := (&kong.ListOpt{Size: 3, Tags: filter.tags, MatchAllTags: filter.and}); opt != nil; {
			page, next, err := c.Services.List(ctx, opt)
			t.must("list page", err)
			if err != nil {
				return
			}
			found, opt = found+len(page), next
		}
		t.equal("tagged services", filter.want, found)
	}
}

func (t *trial) declared(ctx context.Context, c *kong.Client) {
	before, err := c.Config(ctx)
	t.must("get configuration", err)
	t.equal("configuration", true, strings.Contains(string(before), "_format_version"))
	const next = `{"_format_version":"3.0","services":[{"name":"only","host":"only.example"}]}`
	t.must("replace configuration", c.ReloadDeclarativeRawConfig(ctx, strings.NewReader(next), false, false))
	t.must("replace configuration by the same", c.ReloadDeclarativeRawConfig(ctx, strings.NewReader(next), true, true))
	all, err := c.Services.ListAll(ctx)
	t.must("list services", err)
	t.equal("services", 1, len(all))
	err = c.ReloadDeclarativeRawConfig(ctx,
		strings.NewReader(`{"_format_version":"3.0","services":[{"name":"bad"}]}`), false, true)
	t.status("replace configuration by a wrong one", http.StatusBadRequest, err)
	t.must("empty configuration", c.ReloadDeclarativeRawConfig(ctx, strings.NewReader(`{"_format_version":"3.0"}`),
		false, false))
}
