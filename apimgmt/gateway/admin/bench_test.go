package admin_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/admin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/storage"
)

// api is what publishing an API of ten operations makes, two of which want a key.
func api(number, round int) entity.Config {
	name := fmt.Sprintf("api%d", number)
	made := entity.Config{Services: []entity.Service{{Name: name, Host: name + ".example"}}}
	for i := range 10 {
		route := fmt.Sprintf("%s-%d", name, i)
		made.Routes = append(made.Routes, entity.Route{Name: route, Methods: []string{"GET"}, Service: &entity.Ref{Name: name},
			Paths: []string{fmt.Sprintf(`~/%s/%d/(?<id>[^#?/]+)/%d$`, name, round, i)}})
		if i < 2 {
			made.Plugins = append(made.Plugins, entity.Plugin{Name: "key-auth", Route: &entity.Ref{Name: route},
				Config: json.RawMessage(`{"key_names":["apikey"]}`)})
		}
	}
	return made
}

// BenchmarkPublish replaces an API of ten operations beside 10, 100 and 1,000 others.
func BenchmarkPublish(b *testing.B) {
	for _, others := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(others), func(b *testing.B) {
			g, err := gateway.New(&gateway.Options{Kinds: plugin.Kinds()})
			require.NoError(b, err)
			defer func() { require.NoError(b, g.Close()) }()
			store, err := admin.Open(b.Context(), admin.StoreConfig{Gateway: g, Documents: storage.NewMemoryDocuments()})
			require.NoError(b, err)
			err = store.Change(b.Context(), func(c entity.Config) (entity.Config, error) {
				for i := range others {
					one, err := entity.Config{}.Replace(fmt.Sprintf("enabler:api%d", i), api(i, 0))
					if err != nil {
						return c, err
					}
					c.Services, c.Routes, c.Plugins = append(c.Services, one.Services...), append(c.Routes,
						one.Routes...), append(c.Plugins, one.Plugins...)
				}
				return c, nil
			})
			require.NoError(b, err)
			round := 0
			for b.Loop() {
				round++
				require.NoError(b, store.Publish(b.Context(), "enabler:api0", api(0, round)))
			}
		})
	}
}
