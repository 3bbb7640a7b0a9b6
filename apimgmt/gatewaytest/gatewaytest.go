// Package gatewaytest is the conformance suite of [apimgmt.Gateway].
package gatewaytest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/entity"
)

// Run tests a gateway. open returns a new one that serves nothing, and has the
// plugin "cors", for each test.
func Run(t *testing.T, open func(t *testing.T) apimgmt.Gateway) {
	for name, test := range map[string]func(*testing.T, apimgmt.Gateway){
		"what is published is served with the owner's tag":       servesWithTag,
		"publishing again replaces all that the owner had":       replaces,
		"publishing the same twice is as publishing it once":     twice,
		"an empty config withdraws, also what is not there":      withdraws,
		"entities of others and without an owner stay":           leavesOthers,
		"what others have attached is carried over":              carriesOver,
		"what others have attached is never removed":             refusesToRemove,
		"a plan is what publishing changes, and changes nothing": plans,
		"a config with a fault changes nothing":                  refusesFaults,
		"a plugin that is not there changes nothing":             refusesPlugins,
		"a name of another owner changes nothing":                refusesNames,
		"what Config returns belongs to the caller":              returnsCopies,
		"the secrets of a plugin are served as they were given":  keepsSecrets,
		"a call whose context has ended changes nothing":         heedsContext,
		"owners that publish at a time are all served":           servesAll,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// api is a service of a name with one route for each path, and a plugin.
func api(name string, paths ...string) entity.Config {
	c := entity.Config{Services: []entity.Service{{Name: name, Protocol: "http", Host: "192.0.2.1", Port: 8080}},
		Plugins: []entity.Plugin{{Name: "cors", Config: json.RawMessage(`{}`), Service: &entity.Ref{Name: name}}}}
	for i, path := range paths {
		c.Routes = append(c.Routes, entity.Route{Name: fmt.Sprintf("%s_%d", name, i), Methods: []string{"GET"},
			Paths: []string{path}, Service: &entity.Ref{Name: name}})
	}
	return c
}

// requireServed fails unless the gateway serves of an owner exactly a configuration.
func requireServed(t *testing.T, g apimgmt.Gateway, owner string, want entity.Config) {
	t.Helper()
	served, err := g.Config(context.WithoutCancel(t.Context()))
	require.NoError(t, err)
	tagged, err := entity.Config{}.Replace(owner, want)
	require.NoError(t, err)
	changes, err := entity.Diff(served.Tagged(owner), tagged)
	require.NoError(t, err)
	require.Empty(t, changes, "what the gateway serves of %s differs from what was published", owner)
}

func servesWithTag(t *testing.T, g apimgmt.Gateway) {
	requireServed(t, g, "enabler:a", entity.Config{})
	require.NoError(t, g.Publish(t.Context(), "enabler:a", api("a", "/a", "/b")))
	requireServed(t, g, "enabler:a", api("a", "/a", "/b"))
	served, err := g.Config(t.Context())
	require.NoError(t, err)
	require.Len(t, served.Routes, 2)
	require.Contains(t, served.Routes[0].Tags, "enabler:a")
}

func replaces(t *testing.T, g apimgmt.Gateway) {
	require.NoError(t, g.Publish(t.Context(), "enabler:a", api("a", "/a", "/b")))
	require.NoError(t, g.Publish(t.Context(), "enabler:a", api("a", "/c")))
	requireServed(t, g, "enabler:a", api("a", "/c"))
	require.NoError(t, g.Publish(t.Context(), "enabler:a", api("other", "/c")))
	requireServed(t, g, "enabler:a", api("other", "/c"))
}

func twice(t *testing.T, g apimgmt.Gateway) {
	for range 2 {
		require.NoError(t, g.Publish(t.Context(), "enabler:a", api("a", "/a")))
	}
	requireServed(t, g, "enabler:a", api("a", "/a"))
}

func withdraws(t *testing.T, g apimgmt.Gateway) {
	require.NoError(t, g.Publish(t.Context(), "enabler:none", entity.Config{}))
	require.NoError(t, g.Publish(t.Context(), "enabler:a", api("a", "/a")))
	for range 2 {
		require.NoError(t, g.Publish(t.Context(), "enabler:a", entity.Config{}))
		served, err := g.Config(t.Context())
		require.NoError(t, err)
		require.Empty(t, served.Services)
		require.Empty(t, served.Routes)
		require.Empty(t, served.Plugins)
	}
}

func leavesOthers(t *testing.T, g apimgmt.Gateway) {
	require.NoError(t, g.Publish(t.Context(), "enabler:a", api("a", "/a")))
	require.NoError(t, g.Publish(t.Context(), "enabler:ab", api("ab", "/ab")))
	require.NoError(t, g.Publish(t.Context(), "enabler:a", api("a", "/x")))
	requireServed(t, g, "enabler:ab", api("ab", "/ab"))
	require.NoError(t, g.Publish(t.Context(), "enabler:a", entity.Config{}))
	requireServed(t, g, "enabler:ab", api("ab", "/ab"))
}

// attach puts a plugin of another owner on a route.
func attach(t *testing.T, g apimgmt.Gateway, route string) {
	t.Helper()
	require.NoError(t, g.Publish(t.Context(), "operator", entity.Config{Plugins: []entity.Plugin{{Name: "cors",
		Config: json.RawMessage(`{"origins":["https://app.example"]}`), Route: &entity.Ref{Name: route}}}}))
}

// requireAttached fails unless another owner has one plugin, on a route.
func requireAttached(t *testing.T, g apimgmt.Gateway, route string) {
	t.Helper()
	served, err := g.Config(t.Context())
	require.NoError(t, err)
	plugins := served.Tagged("operator").Plugins
	require.Len(t, plugins, 1)
	require.JSONEq(t, `{"origins":["https://app.example"]}`, string(plugins[0].Config))
	for _, r := range served.Routes {
		if r.Name == route {
			require.Equal(t, r.ID, plugins[0].Route.ID)
			return
		}
	}
	require.Fail(t, "there is no route "+route)
}

func carriesOver(t *testing.T, g apimgmt.Gateway) {
	require.NoError(t, g.Publish(t.Context(), "enabler:a", api("a1", "/a", "/b")))
	attach(t, g, "a1_1")
	for range 2 {
		require.NoError(t, g.Publish(t.Context(), "enabler:a", api("a2", "/b", "/c")))
		requireAttached(t, g, "a2_0")
		requireServed(t, g, "enabler:a", api("a2", "/b", "/c"))
	}
	require.NoError(t, g.Publish(t.Context(), "enabler:a", api("a1", "/a", "/b")))
	requireAttached(t, g, "a1_1")
}

func refusesToRemove(t *testing.T, g apimgmt.Gateway) {
	require.NoError(t, g.Publish(t.Context(), "enabler:a", api("a1", "/a", "/b")))
	attach(t, g, "a1_1")
	for _, next := range []entity.Config{{}, api("a2", "/a")} {
		_, err := g.Plan(t.Context(), "enabler:a", next)
		require.ErrorIs(t, err, entity.ErrAttached)
		err = g.Publish(t.Context(), "enabler:a", next)
		require.ErrorIs(t, err, entity.ErrAttached)
		require.ErrorIs(t, err, entity.ErrConflict)
		require.ErrorContains(t, err, `plugin "cors"`)
		requireAttached(t, g, "a1_1")
		requireServed(t, g, "enabler:a", api("a1", "/a", "/b"))
	}
	require.NoError(t, g.Publish(t.Context(), "operator", entity.Config{}))
	require.NoError(t, g.Publish(t.Context(), "enabler:a", entity.Config{}))
	requireServed(t, g, "enabler:a", entity.Config{})
}

func plans(t *testing.T, g apimgmt.Gateway) {
	require.NoError(t, g.Publish(t.Context(), "enabler:a", api("a1", "/a", "/b")))
	attach(t, g, "a1_1")
	before, err := g.Config(t.Context())
	require.NoError(t, err)
	next := api("a2", "/b", "/c")
	plan, err := g.Plan(t.Context(), "enabler:a", next)
	require.NoError(t, err)
	require.Len(t, plan.Carried, 1)
	require.Equal(t, entity.KindPlugin, plan.Carried[0].Kind)
	requireServed(t, g, "enabler:a", api("a1", "/a", "/b"))
	requireAttached(t, g, "a1_1")

	require.NoError(t, g.Publish(t.Context(), "enabler:a", next))
	after, err := g.Config(t.Context())
	require.NoError(t, err)
	changes, err := entity.Diff(before, after)
	require.NoError(t, err)
	require.Equal(t, changes, plan.Changes)
	plan, err = g.Plan(t.Context(), "enabler:a", next)
	require.NoError(t, err)
	require.Empty(t, plan.Changes)
	require.Empty(t, plan.Carried)
}

func refusesFaults(t *testing.T, g apimgmt.Gateway) {
	require.NoError(t, g.Publish(t.Context(), "enabler:a", api("a", "/a")))
	faulty := api("a", "/b", "/c")
	faulty.Routes[1].Service = &entity.Ref{Name: "missing"}
	require.ErrorIs(t, g.Publish(t.Context(), "enabler:a", faulty), entity.ErrInvalid)
	_, err := g.Plan(t.Context(), "enabler:a", faulty)
	require.ErrorIs(t, err, entity.ErrInvalid)
	requireServed(t, g, "enabler:a", api("a", "/a"))
}

func refusesPlugins(t *testing.T, g apimgmt.Gateway) {
	kinds, err := g.Kinds(t.Context())
	require.NoError(t, err)
	if kinds == nil {
		t.Skip("the gateway takes any plugin")
	}
	require.Contains(t, kinds, "cors")
	require.NotContains(t, kinds, "no-such-plugin")
	faulty := api("a", "/a")
	faulty.Plugins[0].Name = "no-such-plugin"
	require.ErrorIs(t, g.Publish(t.Context(), "enabler:a", faulty), entity.ErrInvalid)
	_, err = g.Plan(t.Context(), "enabler:a", faulty)
	require.ErrorIs(t, err, entity.ErrInvalid)
	requireServed(t, g, "enabler:a", entity.Config{})
}

func refusesNames(t *testing.T, g apimgmt.Gateway) {
	require.NoError(t, g.Publish(t.Context(), "enabler:a", api("same", "/a")))
	require.ErrorIs(t, g.Publish(t.Context(), "enabler:b", api("same", "/b")), entity.ErrConflict)
	requireServed(t, g, "enabler:a", api("same", "/a"))
	requireServed(t, g, "enabler:b", entity.Config{})
}

func returnsCopies(t *testing.T, g apimgmt.Gateway) {
	given := api("a", "/a")
	require.NoError(t, g.Publish(t.Context(), "enabler:a", given))
	given.Routes[0].Paths[0] = "/changed"
	got, err := g.Config(t.Context())
	require.NoError(t, err)
	got.Routes[0].Paths[0] = "/changed"
	requireServed(t, g, "enabler:a", api("a", "/a"))
}

func keepsSecrets(t *testing.T, g apimgmt.Gateway) {
	given := api("a", "/a")
	given.Plugins[0].Config = json.RawMessage(`{"origins":["https://app.example"]}`)
	given.Consumers = []entity.Consumer{{Username: "consumer-a"}}
	given.Keys = []entity.Key{{Key: "squirrel", Consumer: &entity.Ref{Name: "consumer-a"}}}
	require.NoError(t, g.Publish(t.Context(), "enabler:a", given))
	requireServed(t, g, "enabler:a", given)
}

func heedsContext(t *testing.T, g apimgmt.Gateway) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, g.Publish(ctx, "enabler:a", api("a", "/a")), context.Canceled)
	requireServed(t, g, "enabler:a", entity.Config{})
}

func servesAll(t *testing.T, g apimgmt.Gateway) {
	const owners = 8
	var group sync.WaitGroup
	faults := make([]error, owners)
	for i := range owners {
		group.Go(func() {
			name := fmt.Sprintf("a%d", i)
			for round := range 5 {
				if err := g.Publish(t.Context(), "enabler:"+name, api(name, fmt.Sprintf("/%s/%d", name, round))); err != nil {
					faults[i] = err
				}
			}
		})
	}
	group.Wait()
	for i, err := range faults {
		require.NoError(t, err)
		name := fmt.Sprintf("a%d", i)
		requireServed(t, g, "enabler:"+name, api(name, "/"+name+"/4"))
	}
}
