package entity_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

func ExampleNewNormal() {
	served, err := entity.NewNormal(entity.Config{Services: []entity.Service{{Name: "lamps", Host: "lamps.example"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	next, err := served.Replace("enabler:doors", entity.Config{Services: []entity.Service{{Name: "doors", Host: "doors.example"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	changes, err := served.Diff(next)
	fmt.Println(changes, err)
	// Output:
	// [create service doors] <nil>
}

// whole has an entity of every kind.
func whole() entity.Config {
	return entity.Config{
		Services: []entity.Service{{Name: "a", Host: "a.example"}, {Name: "b", Host: "pool"}},
		Routes: []entity.Route{
			{Name: "a-1", Paths: []string{`~/a/(?<id>[^/]+)$`}, Service: &entity.Ref{Name: "a"}},
			{Paths: []string{"/b"}, Headers: map[string][]string{"X-A": {"1"}}, Service: &entity.Ref{Name: "b"}},
		},
		Plugins: []entity.Plugin{
			{Name: "cors", Service: &entity.Ref{Name: "a"}, Config: json.RawMessage(`{"b": 1, "a": [2]}`)},
			{Name: "acl", InstanceName: "one", Route: &entity.Ref{Name: "a-1"}, Consumer: &entity.Ref{Name: "carol"}},
		},
		Consumers: []entity.Consumer{{Username: "carol"}, {CustomID: "7"}},
		Keys:      []entity.Key{{Key: "k1", Consumer: &entity.Ref{Name: "carol"}}, {Key: "k2", Consumer: &entity.Ref{Name: "carol"}}},
		Upstreams: []entity.Upstream{{Name: "pool", Healthchecks: &entity.Healthchecks{}}},
		Targets:   []entity.Target{{Target: "t.example:80", Upstream: &entity.Ref{Name: "pool"}}},
	}
}

func TestNormal_Replace_equalsNormalisingTheResult(t *testing.T) {
	first, err := entity.NewNormal(whole())
	require.NoError(t, err)
	for name, edit := range map[string]func(*entity.Config){
		"nothing":                   func(*entity.Config) {},
		"empty":                     func(c *entity.Config) { *c = entity.Config{} },
		"another host":              func(c *entity.Config) { c.Services[0].Host = "NEW.example" },
		"wrong host":                func(c *entity.Config) { c.Services[0].Host = "a b" },
		"wrong timeout":             func(c *entity.Config) { c.Services[1].ReadTimeout = -1 },
		"service gone":              func(c *entity.Config) { c.Services = c.Services[1:] },
		"service twice":             func(c *entity.Config) { c.Services = append(c.Services, c.Services[0]) },
		"a name twice":              func(c *entity.Config) { c.Services = append(c.Services, entity.Service{Name: "a", Host: "c.example"}) },
		"an id twice":               func(c *entity.Config) { c.Services[1].ID = c.Services[0].ID },
		"wrong id":                  func(c *entity.Config) { c.Services[0].ID = "7" },
		"another id":                func(c *entity.Config) { c.Services[0].ID = "6BA7B810-9DAD-11D1-80B4-00C04FD430C8" },
		"wrong expression":          func(c *entity.Config) { c.Routes[1].Paths = []string{"~/("} },
		"wrong expression in place": func(c *entity.Config) { c.Routes[1].Paths[0] = "~/(" },
		"wrong header":              func(c *entity.Config) { c.Routes[0].Headers["x-a"] = nil },
		"wrong tag":                 func(c *entity.Config) { c.Routes[0].Tags = []string{""} },
		"route by name":             func(c *entity.Config) { c.Routes[1].Service = &entity.Ref{Name: "b"} },
		"route to nothing":          func(c *entity.Config) { c.Routes[1].Service.ID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8" },
		"two routes": func(c *entity.Config) {
			c.Routes = append(c.Routes, entity.Route{Name: "n", Paths: []string{"/n"}}, entity.Route{Name: "n", Paths: []string{"/m"}})
		},
		"plugin's configuration": func(c *entity.Config) { c.Plugins[1].Config = json.RawMessage(`{ "z": 1}`) },
		"wrong configuration":    func(c *entity.Config) { c.Plugins[1].Config[0] = '[' },
		"a plugin twice": func(c *entity.Config) {
			c.Plugins = append(c.Plugins, entity.Plugin{Name: "cors", Service: &entity.Ref{Name: "a"}})
		},
		"a plugin elsewhere":    func(c *entity.Config) { c.Plugins[0].Route, c.Plugins[0].Consumer = nil, nil },
		"consumer gone":         func(c *entity.Config) { c.Consumers = nil },
		"consumer without name": func(c *entity.Config) { c.Consumers[0].Username, c.Consumers[0].CustomID = "", "" },
		"custom id twice":       func(c *entity.Config) { c.Consumers[1].CustomID, c.Consumers[0].CustomID = "7", "7" },
		"a key twice":           func(c *entity.Config) { c.Keys[0].Key = c.Keys[1].Key },
		"a new key": func(c *entity.Config) {
			c.Keys = append(c.Keys, entity.Key{Key: "k3", Consumer: &entity.Ref{Name: "carol"}})
		},
		"wrong threshold": func(c *entity.Config) { c.Upstreams[0].Healthchecks.Threshold = 101 },
		"wrong status":    func(c *entity.Config) { c.Upstreams[0].Healthchecks.Active.Healthy.HTTPStatuses[0] = 1 },
		"upstream gone":   func(c *entity.Config) { c.Upstreams = nil },
		"another weight":  func(c *entity.Config) { *c.Targets[0].Weight = 7 },
		"wrong weight":    func(c *entity.Config) { *c.Targets[0].Weight = -7 },
		"a target twice": func(c *entity.Config) {
			c.Targets = append(c.Targets, entity.Target{Target: "T.example:80", Upstream: &entity.Ref{Name: "pool"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			next := first.Config()
			edit(&next)
			want, fault := next.Normalize()
			made, err := first.With(next)
			if fault != nil {
				require.EqualError(t, err, fault.Error())
				require.Equal(t, entity.Config{}, made.Config())
				return
			}
			require.NoError(t, err)
			require.Equal(t, want, made.Config())
			changes, err := first.Diff(made)
			require.NoError(t, err)
			plain, err := entity.Diff(first.Config(), want)
			require.NoError(t, err)
			require.Equal(t, plain, changes)
		})
	}
	again, err := whole().Normalize()
	require.NoError(t, err)
	require.Equal(t, again, first.Config(), "nothing of it has changed")
}

func TestNormal_isSafeForConcurrentUse(t *testing.T) {
	first, err := entity.NewNormal(whole())
	require.NoError(t, err)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			next := first
			for round := range 5 {
				var err error
				next, err = next.Replace(fmt.Sprintf("enabler:%d", round%2), entity.Config{
					Services: []entity.Service{{Name: fmt.Sprintf("s%d-%d", i, round), Host: "s.example"}},
					Plugins:  []entity.Plugin{{Name: "acl", Service: &entity.Ref{Name: "b"}, Config: json.RawMessage(fmt.Sprintf(`{"r":%d}`, round))}},
				})
				if round == 1 { // which the other owner has a plugin on already
					if err == nil {
						t.Error("two plugins of a kind on a service")
					}
					return
				}
				if err != nil {
					t.Error(err)
				}
				_ = next.Config()
			}
		})
	}
	group.Wait()
	again, err := whole().Normalize()
	require.NoError(t, err)
	require.Equal(t, again, first.Config())
}

func TestNormal_Replace_setsTheTimesOfTheChange(t *testing.T) {
	empty := entity.Normal{}
	stamped := func(before, next entity.Normal, at int64) entity.Normal {
		changes, err := before.Diff(next)
		require.NoError(t, err)
		return next.Stamped(before, changes, time.Unix(at, 0))
	}
	next, err := empty.With(whole())
	require.NoError(t, err)
	first := stamped(empty, next, 100)
	edited := first.Config()
	edited.Services[0].Host = "new.example"
	edited.Services[0].UpdatedAt = 7
	edited.Services = append(edited.Services, entity.Service{Name: "c", Host: "c.example"})
	next, err = first.With(edited)
	require.NoError(t, err)
	second := stamped(first, next, 200)
	for i, want := range []entity.Meta{{CreatedAt: 100, UpdatedAt: 200}, {CreatedAt: 100, UpdatedAt: 100}, {CreatedAt: 200, UpdatedAt: 200}} {
		require.Equal(t, want.CreatedAt, second.Config().Services[i].CreatedAt)
		require.Equal(t, want.UpdatedAt, second.Config().Services[i].UpdatedAt)
	}
	require.EqualValues(t, 100, first.Config().Services[0].UpdatedAt, "the one before is as it was")
}

func ExampleNewRouteIndex() {
	there := entity.NewRouteIndex(entity.Config{Routes: []entity.Route{{Name: "lamp", Paths: []string{`~/lamps/(?<id>[^/]+)$`}}}})
	wanted := entity.NewRouteIndex(entity.Config{Routes: []entity.Route{{Name: "light", Paths: []string{`~/lamps/(?<name>[a-z]+)$`}}}})
	fmt.Println(wanted.Conflicts(there))
	// Output:
	// [route "light" and route "lamp" both match "~/lamps/(?<name>[a-z]+)$"]
}
