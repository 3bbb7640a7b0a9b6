package kong_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/admin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/gatewaytest"
	"github.com/iotenablers/enablers/apimgmt/kong"
	"github.com/iotenablers/enablers/storage"
)

// embedded is the embedded gateway behind its own Admin API.
func embedded(t *testing.T) (*gateway.Gateway, *kong.Gateway) {
	g, err := gateway.New(&gateway.Options{Kinds: plugin.Kinds()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	store, err := admin.Open(t.Context(), admin.StoreConfig{Gateway: g, Documents: storage.NewMemoryDocuments()})
	require.NoError(t, err)
	handler, err := admin.NewHandler(admin.HandlerConfig{Store: store})
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	driver, err := kong.New(kong.Config{URL: server.URL, Backoff: time.Millisecond})
	require.NoError(t, err)
	return g, driver
}

// The Admin API of the embedded gateway was written by others after the same
// documentation, so each is a witness for the other.
func TestItPublishesToTheEmbeddedGatewayAsToAKong(t *testing.T) {
	gatewaytest.Run(t, func(t *testing.T) apimgmt.Gateway {
		_, driver := embedded(t)
		return driver
	})
}

func TestTheEmbeddedGatewayServesWhatItIsToldByTheAdminAPI(t *testing.T) {
	g, driver := embedded(t)
	config := second()
	config.Plugins[0].Config = []byte(`{"discovery":"https://idm.example/.well-known/openid-configuration","client_id":"kong","client_secret":"wolpertinger"}`)
	require.NoError(t, driver.Publish(t.Context(), "enabler:w", config))
	served, _ := g.Config()
	require.Len(t, served.Services, 2)
	require.Len(t, served.Routes, 6)
	require.Len(t, served.Plugins, 3)
	require.Len(t, served.Keys, 1)
	require.Len(t, served.Targets, 1)
	require.NoError(t, driver.Publish(t.Context(), "enabler:w", config))
	again, _ := g.Config()
	require.Equal(t, served, again)
}
