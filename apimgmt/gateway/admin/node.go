package admin

import (
	"cmp"
	"net/http"
	"runtime"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// kongVersion is the version of Kong whose Admin API this is: clients choose by it
// how they write paths and which fields they send.
const kongVersion = "3.4.0"

// root answers what the node is. Users with a browser are sent to the page.
func (a *API) root(w http.ResponseWriter, r *http.Request) error {
	if r.Header.Get("Sec-Fetch-Dest") == "document" || strings.HasPrefix(r.Header.Get("Accept"), "text/html") {
		w.Header().Set("Location", "admin/")
		w.Header().Add("Vary", "Accept, Sec-Fetch-Dest")
		w.WriteHeader(http.StatusSeeOther)
		return nil
	}
	now, err := a.store.current(r.Context())
	if err != nil {
		return err
	}
	available := map[string]any{}
	for _, name := range a.store.gateway.Kinds() {
		available[name] = map[string]any{"version": kongVersion}
	}
	enabled := []string{}
	for i := range now.config.Plugins {
		enabled = append(enabled, now.config.Plugins[i].Name)
	}
	slices.Sort(enabled)
	writeJSON(w, http.StatusOK, map[string]any{
		"version": kongVersion,
		"tagline": "The gateway of enablers, with the Admin API of Kong",
		"node_id": a.node,
		"edition": "community",
		"plugins": map[string]any{
			"available_on_server": available,
			"enabled_in_cluster":  slices.Compact(enabled),
		},
		"configuration": map[string]any{
			"database":      "documents",
			"role":          "traditional",
			"router_flavor": "traditional_compatible",
			"plugins":       []string{"bundled"},
		},
	})
	return nil
}

// status answers how the node is.
func (a *API) status(w http.ResponseWriter, r *http.Request) error {
	now, err := a.store.current(r.Context())
	reachable := err == nil
	if !reachable {
		a.logger.Warn("the stored configuration cannot be read", "error", err)
		now = a.store.state.Load()
	}
	var requests, open uint64
	for _, t := range a.store.gateway.Traffic() {
		requests += t.Requests
		open += uint64(max(t.Open, 0))
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	writeJSON(w, http.StatusOK, map[string]any{
		"database": map[string]any{"reachable": reachable},
		"server": map[string]any{
			"total_requests": requests, "connections_active": open, "connections_accepted": requests, "connections_handled": requests,
			"connections_reading": 0, "connections_writing": open, "connections_waiting": 0,
		},
		"memory":             map[string]any{"heap_bytes": memory.HeapAlloc},
		"configuration_hash": now.hash(),
	})
	return nil
}

// hash is 32 hexadecimal digits that change with the configuration.
func (s *state) hash() string {
	return cmp.Or(s.head.SHA256, strings.Repeat("0", 64))[:32]
}

// enabled lists the plugins that configurations may name.
func (a *API) enabled(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, map[string]any{"enabled_plugins": a.store.gateway.Kinds()})
	return nil
}

// tagged is an entity that has a tag, as lists of tags have it.
type tagged struct {
	Name string `json:"entity_name"`
	ID   string `json:"entity_id"`
	Tag  string `json:"tag"`
}

// tags lists the tags of all entities, or the entities of one tag.
func (a *API) tags(w http.ResponseWriter, r *http.Request) error {
	wanted, err := readListing(r)
	if err != nil {
		return err
	}
	now, err := a.store.current(r.Context())
	if err != nil {
		return err
	}
	var items []item
	for _, t := range tables() {
		for e := range t.rows(&now.config) {
			for _, tag := range e.meta().Tags {
				if only := r.PathValue("tag"); only == "" || only == tag {
					items = append(items, item{tag + "\x00" + t.schema + "\x00" + e.meta().ID, tagged{t.schema, e.meta().ID, tag}})
				}
			}
		}
	}
	writeJSON(w, http.StatusOK, wanted.cutPage(r, items))
	return nil
}

// targetHealth is the health of a target, in Kong's form.
type targetHealth struct {
	ID        string         `json:"id"`
	Target    string         `json:"target"`
	Weight    int            `json:"weight"`
	Upstream  *entity.Ref    `json:"upstream"`
	Tags      []string       `json:"tags"`
	CreatedAt int64          `json:"created_at"`
	Health    string         `json:"health"`
	Data      map[string]any `json:"data"`
}

// health lists the targets of an upstream and how they are.
func (a *API) health(w http.ResponseWriter, r *http.Request) error {
	wanted, err := readListing(r)
	if err != nil {
		return err
	}
	now, err := a.store.current(r.Context())
	if err != nil {
		return err
	}
	found, ok := tableFor(entity.KindUpstream).find(&now.config, r.PathValue("parent"))
	if !ok {
		return notFound()
	}
	var items []item
	for _, h := range a.store.upstreamHealth(&now.config, found.entity.(*entity.Upstream)) {
		items = append(items, item{h.ID, h})
	}
	answer := struct {
		page
		Node string `json:"node_id"`
	}{wanted.cutPage(r, items), a.node}
	writeJSON(w, http.StatusOK, answer)
	return nil
}

// groupTargets lists the targets of each upstream, by its id.
func groupTargets(config *entity.Config) map[string][]*entity.Target {
	targets := map[string][]*entity.Target{}
	for i := range config.Targets {
		if t := &config.Targets[i]; t.Upstream != nil {
			targets[t.Upstream.ID] = append(targets[t.Upstream.ID], t)
		}
	}
	return targets
}

// upstreamHealth lists the targets of an upstream with their health.
func (s *Store) upstreamHealth(config *entity.Config, upstream *entity.Upstream) []targetHealth {
	return s.healthOfTargets(upstream, groupTargets(config)[upstream.ID])
}

func (s *Store) healthOfTargets(upstream *entity.Upstream, targets []*entity.Target) []targetHealth {
	states := map[string]bool{}
	known, _ := s.gateway.Health(upstream.Name) // one that is gone by now has no healthy targets
	for _, target := range known {
		states[target.Target] = target.Healthy
	}
	var all []targetHealth
	for _, t := range targets {
		health := "UNHEALTHY"
		healthy, served := states[t.Target]
		switch {
		case !served || (upstream.Healthchecks == nil && healthy):
			health = "HEALTHCHECKS_OFF"
		case healthy:
			health = "HEALTHY"
		}
		all = append(all, targetHealth{
			ID: t.ID, Target: t.Target, Weight: *t.Weight, Upstream: t.Upstream, Tags: t.Tags, CreatedAt: t.CreatedAt,
			Health: health, Data: map[string]any{},
		})
	}
	return all
}

// setHealth sets a target healthy or not, on this node and until a check finds
// otherwise.
func (a *API) setHealth(healthy bool) func(http.ResponseWriter, *http.Request) error {
	targets := collection{table: tableFor(entity.KindTarget), parent: tableFor(entity.KindUpstream)}
	return func(w http.ResponseWriter, r *http.Request) error {
		now, err := a.store.current(r.Context())
		if err != nil {
			return err
		}
		upstream, err := targets.findParent(&now.config, r)
		if err != nil {
			return err
		}
		target, err := targets.find(&now.config, r)
		if err != nil {
			return err
		}
		if err := a.store.gateway.SetHealth(upstream.name(), target.name(), healthy); err != nil {
			return notFound()
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}
