// Package kongclients_test tries the gateway's Admin API with clients that others have
// written for Kong: go-kong, and the reconciler that decK is made of.
package kongclients_test

import (
	"net/http/httptest"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/admin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

func program(t *testing.T) string {
	name, err := peertest.Peer{Module: "test/kongclients", Package: ".", Name: "kongclients"}.Program(t.Context())
	if err != nil && !peertest.Required() {
		t.Skipf("no clients of Kong: %v", err)
	}
	require.NoError(t, err)
	return name
}

// try runs a program of the clients against a gateway that keeps its configuration on
// disk, and demands that it is content and leaves nothing.
func try(t *testing.T, what, token string) {
	clients := program(t)
	store, err := disk.Open(t.Context(), t.TempDir(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	g, err := gateway.New(&gateway.Options{Kinds: plugin.Kinds()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	s, err := admin.Open(t.Context(), admin.StoreConfig{Gateway: g, Documents: storage.Prefixed(store.Documents(), "gateway/")})
	require.NoError(t, err)
	api, err := admin.New(admin.Config{Store: s, Token: token})
	require.NoError(t, err)
	server := httptest.NewServer(api.Handler())
	t.Cleanup(server.Close)
	args := []string{what, server.URL}
	if token != "" {
		args = append(args, token)
	}
	output, err := exec.CommandContext(t.Context(), clients, args...).CombinedOutput()
	require.NoError(t, err, "%s", output)
	config, revision := g.Config()
	require.Empty(t, config.Services)
	require.Empty(t, config.Plugins)
	require.Empty(t, config.Consumers)
	require.Empty(t, config.Upstreams)
	require.Greater(t, revision, uint64(5))
}

func TestAdmin_goKong_createsChangesAndDeletesEveryEntity(t *testing.T) { try(t, "life", "") }

func TestAdmin_goKong_authenticatesByToken(t *testing.T) { try(t, "life", "a-token-of-the-admin-api") }

func TestAdmin_decK_synchronizesAFile(t *testing.T) { try(t, "sync", "") }
