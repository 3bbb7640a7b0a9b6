package gateway_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
)

func TestGateway_servesStoredConfigurationsOnly(t *testing.T) {
	var made, closed int
	kind := gateway.Kind{Name: "counted", Compile: func(s gateway.Setup) (gateway.Plugin, error) {
		var config struct {
			Bad bool `json:"bad"`
		}
		if err := s.Decode(&config); err != nil || config.Bad {
			return gateway.Plugin{}, errors.Join(err, errors.New("config.bad: is set"))
		}
		made++
		return gateway.Plugin{Close: func() error { closed++; return nil }}, nil
	}}
	g, err := gateway.New(&gateway.Options{Kinds: []gateway.Kind{kind}})
	require.NoError(t, err)
	apply := func(c entity.Config, store func() error) error {
		t.Helper()
		next, err := entity.NewNormal(c)
		require.NoError(t, err)
		return g.ApplyStored(next, store)
	}
	served := func() (string, uint64) {
		c, revision := g.Config()
		if len(c.Services) == 0 {
			return "", revision
		}
		return c.Services[0].Name, revision
	}
	api := func(name, config string) entity.Config {
		return entity.Config{Services: []entity.Service{{Name: name, Host: name + ".example"}},
			Plugins: []entity.Plugin{{Name: "counted", Config: []byte(config), Service: &entity.Ref{Name: name}}}}
	}
	stored := 0
	require.NoError(t, apply(api("one", `{}`), func() error {
		stored++
		name, revision := served()
		require.Equal(t, "", name, "it is not served before it is stored")
		require.Zero(t, revision)
		return nil
	}))
	name, revision := served()
	require.Equal(t, "one", name)
	require.EqualValues(t, 1, revision)

	full := errors.New("the disk is full")
	require.ErrorIs(t, apply(api("two", `{}`), func() error { return full }), full)
	require.Equal(t, []int{2, 1}, []int{made, closed}, "what is not served is closed")
	err = apply(api("three", `{"bad":true}`), func() error { stored++; return nil })
	require.ErrorIs(t, err, entity.ErrInvalid)
	require.Equal(t, 1, stored, "what cannot be served is not stored")
	name, revision = served()
	require.Equal(t, "one", name)
	require.EqualValues(t, 1, revision)

	require.NoError(t, g.Close())
	require.ErrorIs(t, apply(api("four", `{}`), func() error { stored++; return nil }), gateway.ErrClosed)
	require.Equal(t, 1, stored)
	require.Equal(t, made, closed)
}
