package entity_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

const doors = "enabler:doors"

// version is what an owner publishes of a version: a service with a route for each path.
func version(name string, paths ...string) entity.Config {
	c := entity.Config{Services: []entity.Service{{Name: name, Host: "doors.example"}}}
	for _, path := range paths {
		c.Routes = append(c.Routes, entity.Route{Name: name + path[1:], Service: &entity.Ref{Name: name}, Paths: []string{path},
			Methods: []string{"GET"}})
	}
	return c
}

// attachedTo is a normalised configuration in which others have attached entities to those of the owner.
func attachedTo(t *testing.T, published, more entity.Config) entity.Normal {
	t.Helper()
	served, err := entity.Normal{}.Replace(doors, published)
	require.NoError(t, err)
	whole, err := served.Config().Merge(more)
	require.NoError(t, err)
	normal, err := entity.NewNormal(whole)
	require.NoError(t, err)
	return normal
}

// on is a plugin on a service or a route, by name.
func on(kind, service, route string) entity.Plugin {
	p := entity.Plugin{Name: kind, Config: json.RawMessage(`{"x":1}`)}
	if service != "" {
		p.Service = &entity.Ref{Name: service}
	}
	if route != "" {
		p.Route = &entity.Ref{Name: route}
	}
	return p
}

// carriedPlaces lists the plugins of others with what they are on.
func carriedPlaces(c entity.Config) []string {
	names := map[string]string{}
	for _, s := range c.Services {
		names[s.ID] = s.Name
	}
	for _, r := range c.Routes {
		names[r.ID] = r.Name
	}
	places := []string{}
	for _, p := range c.Plugins {
		if slices.Contains(p.Tags, doors) {
			continue
		}
		place := p.Name
		if p.Service != nil {
			place += " " + names[p.Service.ID]
		}
		if p.Route != nil {
			place += " " + names[p.Route.ID]
		}
		places = append(places, place)
	}
	slices.Sort(places)
	return places
}

func TestNormal_Replace_carriesOverWhatOthersHaveAttached(t *testing.T) {
	split := version("d2", "/a")
	split.Services = append(split.Services, entity.Service{Name: "d2b", Host: "b.example"})
	split.Routes = append(split.Routes, entity.Route{Name: "d2b", Service: &entity.Ref{Name: "d2b"}, Paths: []string{"/b"},
		Methods: []string{"GET"}})
	moved := version("d1", "/a", "/b") // the same version, whose /b has another service
	moved.Services = append(moved.Services, split.Services[1])
	moved.Routes[1].Service = &entity.Ref{Name: "d2b"}
	renamed := version("d1", "/a", "/b") // the same version, whose operations have other names
	renamed.Routes[0].Name, renamed.Routes[1].Name = renamed.Routes[1].Name, renamed.Routes[0].Name
	equal := version("d2", "/a", "/b")
	equal.Plugins = []entity.Plugin{on("key-auth", "d2", "")}
	for name, tc := range map[string]struct {
		attached, next entity.Config
		want           []string
		carried        int
	}{
		"a plugin on the service": {entity.Config{Plugins: []entity.Plugin{on("key-auth", "d1", "")}}, version("d2", "/b", "/c"),
			[]string{"key-auth d2"}, 1},
		"a plugin on a route": {entity.Config{Plugins: []entity.Plugin{on("key-auth", "", "d1b")}}, version("d2", "/b", "/c"),
			[]string{"key-auth d2b"}, 1},
		"a plugin on both": {entity.Config{Plugins: []entity.Plugin{on("key-auth", "d1", "d1b")}}, version("d2", "/b"),
			[]string{"key-auth d2 d2b"}, 1},
		"a service that becomes two": {entity.Config{Plugins: []entity.Plugin{on("key-auth", "d1", "")}}, split,
			[]string{"key-auth d2", "key-auth d2b"}, 2},
		"a route that gets another service": {entity.Config{Plugins: []entity.Plugin{on("key-auth", "d1", "")}}, moved,
			[]string{"key-auth d1", "key-auth d2b"}, 1},
		"routes that change their names": {entity.Config{Plugins: []entity.Plugin{on("key-auth", "", "d1a")}}, renamed,
			[]string{"key-auth d1a", "key-auth d1b"}, 1},
		"a route of others": {entity.Config{Routes: []entity.Route{{Name: "own", Service: &entity.Ref{Name: "d1"}, Paths: []string{"/own"}}},
			Plugins: []entity.Plugin{on("key-auth", "", "own")}}, version("d2", "/a"), []string{"key-auth own"}, 1},
		"the same plugin is there": {entity.Config{Plugins: []entity.Plugin{on("key-auth", "d1", "")}}, equal, []string{}, 0},
		"nothing moves": {entity.Config{Plugins: []entity.Plugin{on("key-auth", "d1", "")}}, version("d1", "/c"),
			[]string{"key-auth d1"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			before := attachedTo(t, version("d1", "/a", "/b"), tc.attached)
			after, carried, err := before.ReplaceCarrying(doors, tc.next)
			require.NoError(t, err)
			require.Equal(t, tc.want, carriedPlaces(after.Config()))
			require.Len(t, carried, tc.carried)

			again, carried, err := after.ReplaceCarrying(doors, tc.next)
			require.NoError(t, err)
			require.Empty(t, carried)
			changes, err := after.Diff(again)
			require.NoError(t, err)
			require.Empty(t, changes, "replacing by the same changes nothing")

			if name == "the same plugin is there" {
				return // which the owner had, and takes along
			}
			back, err := after.Replace(doors, version("d1", "/a", "/b"))
			require.NoError(t, err)
			for _, p := range before.Config().Plugins {
				require.Contains(t, carriedPlaces(back.Config()), carriedPlaces(entity.Config{Services: before.Config().Services,
					Routes: before.Config().Routes, Plugins: []entity.Plugin{p}})[0], "a step back takes it along")
			}
		})
	}
}

// Names of instances are unique, and the copies exist beside the plugin that they take the place of.
func TestNormal_Replace_carriesNoInstanceNameOver(t *testing.T) {
	named := on("key-auth", "d1", "")
	named.InstanceName = "ours"
	before := attachedTo(t, version("d1", "/a", "/b"), entity.Config{Plugins: []entity.Plugin{named}})
	split := version("d2", "/a")
	split.Services = append(split.Services, entity.Service{Name: "d2b", Host: "b.example"})
	split.Routes = append(split.Routes, entity.Route{Name: "d2b", Service: &entity.Ref{Name: "d2b"}, Paths: []string{"/b"},
		Methods: []string{"GET"}})
	after, carried, err := before.ReplaceCarrying(doors, split)
	require.NoError(t, err)
	require.Equal(t, []string{"key-auth d2", "key-auth d2b"}, carriedPlaces(after.Config()))
	require.Len(t, carried, 2)
	require.Contains(t, carried[0].String(), `without its instance name "ours"`)
	for _, p := range after.Config().Plugins {
		require.Empty(t, p.InstanceName)
	}
}

func TestNormal_Replace_refusesToRemoveWhatOthersHaveAttached(t *testing.T) {
	merged := version("d3", "/a", "/b")
	two := version("d1", "/a")
	two.Services = append(two.Services, entity.Service{Name: "d2", Host: "b.example"})
	two.Routes = append(two.Routes, entity.Route{Name: "d2b", Service: &entity.Ref{Name: "d2"}, Paths: []string{"/b"},
		Methods: []string{"GET"}})
	taken := version("d2", "/a")
	taken.Plugins = []entity.Plugin{{Name: "key-auth", Config: json.RawMessage(`{"x":2}`), Service: &entity.Ref{Name: "d2"}}}
	with := func(c entity.Config) entity.Config {
		c.Upstreams, c.Consumers = []entity.Upstream{{Name: "up"}}, []entity.Consumer{{Username: "ada"}}
		return c
	}
	plugin := entity.Config{Plugins: []entity.Plugin{on("key-auth", "d1", "")}}
	for name, tc := range map[string]struct {
		published, attached, next entity.Config
		reason                    string
	}{
		"withdrawn": {version("d1", "/a"), plugin, entity.Config{}, `plugin "key-auth" (id `},
		"other requests": {version("d1", "/a"), plugin, version("d2", "/b"),
			`, which others have attached to service "d1", would be lost: nothing is in its place`},
		"a route that goes": {version("d1", "/a", "/b"), entity.Config{Plugins: []entity.Plugin{on("key-auth", "", "d1b")}},
			version("d1", "/a"), `attached to route "d1b"`},
		"a plugin of its own": {version("d1", "/a"), plugin, taken,
			`service "d2", which is in its place, has a plugin "key-auth" of its own`},
		"services that become one": {two, plugin, merged,
			`service "d3", which is in its place, is in the place of others too`},
		"a route of others": {version("d1", "/a"), entity.Config{Routes: []entity.Route{{Name: "own", Paths: []string{"/own"},
			Service: &entity.Ref{Name: "d1"}}}}, version("d2", "/b"), `route "own" (id `},
		"a target": {with(version("d1", "/a")), entity.Config{Targets: []entity.Target{{Target: "192.0.2.1:80",
			Upstream: &entity.Ref{Name: "up"}}}}, version("d1", "/a"), `target "192.0.2.1:80" (id `},
		"a key": {with(version("d1", "/a")), entity.Config{Keys: []entity.Key{{Key: "squirrel", Consumer: &entity.Ref{Name: "ada"}}}},
			version("d1", "/a"), `keyauth_credential `},
	} {
		t.Run(name, func(t *testing.T) {
			before := attachedTo(t, tc.published, tc.attached)
			_, err := before.Replace(doors, tc.next)
			require.ErrorIs(t, err, entity.ErrAttached)
			require.ErrorIs(t, err, entity.ErrConflict)
			require.ErrorContains(t, err, tc.reason)
			require.NotContains(t, err.Error(), "squirrel")
		})
	}
}
