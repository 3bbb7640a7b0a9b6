package kong_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// weatherAt is a version of an API: a service with one route.
func weatherAt(name string) entity.Config {
	return entity.Config{Services: []entity.Service{{Name: name, Host: name + ".example"}}, Routes: []entity.Route{
		{Name: name + "_list", Methods: []string{"GET"}, Paths: []string{"/things"}, Service: &entity.Ref{Name: name}}}}
}

// named is the id of the fake's entity of a name.
func (f *fake) named(table, name string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, e := range f.tables[table] {
		if e["name"] == name {
			return key
		}
	}
	return ""
}

// insert adds an entity as an operator's own tool does.
func (f *fake) insert(table string, e object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tables[table][e["id"].(string)] = e
}

// A plugin that was put on a published service is on the service of the next version before
// that is served, and on the old one for as long as that is.
func TestGateway_Publish_neverServesWithoutAPluginThatItCarriesOver(t *testing.T) {
	for _, version := range versions() {
		t.Run(version, func(t *testing.T) {
			f := newFake(version)
			g := f.open(t)
			require.NoError(t, g.Publish(t.Context(), "enabler:w", weatherAt("w1")))
			f.insert("plugins", object{"id": "7b1a1a3e-0000-4000-8000-000000000001", "name": "key-auth", "enabled": true, "instance_name": "ours",
				"config":    object{"key_names": []any{"k"}, "hide_credentials": false},
				"protocols": []any{"http"}, "service": object{"id": f.named("services", "w1")}, "route": nil, "consumer": nil, "tags": []any{"ops"}})
			f.watch = func(f *fake) {
				for route, is := range f.served() {
					if !strings.Contains(is, "key-auth") {
						t.Errorf("%s is served with %s after %v", route, is, f.writes)
					}
				}
			}
			plan, err := g.Plan(t.Context(), "enabler:w", weatherAt("w2"))
			require.NoError(t, err)
			require.Len(t, plan.Carried, 1)
			require.NoError(t, g.Publish(t.Context(), "enabler:w", weatherAt("w2")))
			require.Equal(t, map[string]string{"[GET] [/things]": `w2.example[key-auth{"hide_credentials":false,"key_names":["k"]}]`}, f.snapshot())
			require.Equal(t, 1, f.count("plugins"))
			require.Contains(t, plan.Carried[0].String(), `without its instance name "ours"`)
			for _, p := range f.tables["plugins"] {
				require.Nil(t, p["instance_name"], "a Kong has a name once, and the new plugin exists beside the old one")
			}
			f.watch = nil
			require.ErrorIs(t, g.Publish(t.Context(), "enabler:w", entity.Config{}), entity.ErrAttached)
		})
	}
}

func TestGateway_Publish_refusesToDeleteWhatItCannotCarryOver(t *testing.T) {
	f := newFake("3.4.2")
	g := f.open(t)
	require.NoError(t, g.Publish(t.Context(), "enabler:w", weatherAt("w1")))
	f.insert("routes", object{"id": "7b1a1a3e-0000-4000-8000-000000000002", "name": "look", "paths": []any{`~/a(?!b)`},
		"protocols": []any{"http"}, "service": object{"id": f.named("services", "w1")}, "tags": nil})
	f.writes = nil
	for _, next := range []entity.Config{{}, weatherAt("w2")} {
		_, err := g.Plan(t.Context(), "enabler:w", next)
		require.ErrorIs(t, err, entity.ErrAttached)
		err = g.Publish(t.Context(), "enabler:w", next)
		require.ErrorIs(t, err, entity.ErrAttached)
		require.ErrorContains(t, err, `route "look" (id 7b1a1a3e-0000-4000-8000-000000000002), which others have attached to service `+
			f.named("services", "w1"))
	}
	require.Empty(t, f.writes)
	require.NoError(t, g.Publish(t.Context(), "enabler:w", weatherAt("w1")), "what stays keeps it")
}
