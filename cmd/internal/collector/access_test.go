package collector

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
)

// limit bounds what a test waits for.
const limit = 30 * time.Second

// tokens are tokens by their roles.
var tokens = map[string]string{
	"reader": "token-of-the-reader", "operator": "token-of-the-operator", "admin": "token-of-the-admin",
}

// runSecured runs a collector behind a door that knows the tokens, and returns the
// addresses of its web interface and for its clients.
func runSecured(t *testing.T) (c *Collector, web, clients string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	text := ""
	for role, token := range tokens {
		text += "the-" + role + " " + role + " " + token + "\n"
	}
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	dir, log := t.TempDir(), slog.New(slog.DiscardHandler)
	kept, err := stores.In(dir).Open(t.Context(), stores.Config{Owner: datafolder.FLCollector, Logger: log})
	require.NoError(t, err)
	flags := host.NewFlags("flcollector", "FLCOLLECTOR", "")
	require.NoError(t, flags.Read([]string{"-access-tokens", file}, func() {}))
	d, err := flags.Door.Open(t.Context(), door.Config{Name: "flcollector", Logger: log})
	require.NoError(t, err)
	c = &Collector{Web: &host.Listener{}, Clients: &host.Listener{}, Fleet: NewFleet(flags, "fleet")}
	for _, l := range []*host.Listener{c.Web, c.Clients} {
		l.Listener, err = net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
	}
	block, err := c.Open(t.Context(), &host.Env{Stores: kept, Door: d, Logger: log})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for _, part := range block.Run {
		group.Go(func() { _ = part.Run(ctx) }) // the context ends it
	}
	t.Cleanup(func() {
		cancel()
		group.Wait()
		require.NoError(t, d.Close())
		require.NoError(t, kept.Close())
	})
	require.Eventually(t, func() bool { return c.Jobs.Ready() == nil }, limit, time.Millisecond)
	return c, "http://" + c.Web.Addr().String(), c.Clients.Addr().String()
}

func TestCollector_handler_requiresTheRoleOfEveryRoute(t *testing.T) {
	_, web, _ := runSecured(t)
	httpapitest.Access{
		At: web, Tokens: tokens,
		Documents: map[string]string{"/openapi.json": "", "/repository/openapi.json": "/repository"},
		Undocumented: map[string]string{
			"GET /": "reader", "GET /live/some": "reader", "GET /page/jobs.js": "public", "POST /v1/fleet/register-node": "reader",
			"POST /model": "operator", "GET /model": "reader", "DELETE /model/a/b": "operator", "GET /models/available": "reader",
			"POST /training-results": "operator", "GET /training-results": "reader", "PUT /strategy/some": "operator",
			"GET /strategy/some": "reader", "POST /collector": "operator", "DELETE /transformation/some": "operator",
			"GET /repository/": "public",
		},
	}.Check(t)
}

// trainer is a client that is never asked to do anything.
type trainer struct{ flower.Trainer }

func TestCollector_Open_acceptsClientsByTheirTokens(t *testing.T) {
	c, _, clients := runSecured(t)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	join := func(token string) error {
		client, err := flower.NewClient(flower.ClientConfig{Target: clients, Token: token, Trainer: trainer{}})
		require.NoError(t, err)
		return client.Run(ctx)
	}
	require.ErrorContains(t, join(""), "Unauthenticated")
	require.ErrorContains(t, join("token-of-no-client"), "Unauthenticated")
	group.Go(func() { _ = join(tokens["reader"]) })
	require.Eventually(t, func() bool { return c.Jobs.Totals().Clients == 1 }, limit, time.Millisecond)

	slowed := join("token-of-no-client")
	for attempts := 1; attempts < 100 && !strings.Contains(slowed.Error(), "ResourceExhausted"); attempts++ {
		slowed = join("token-of-no-client")
	}
	require.ErrorContains(t, slowed, "ResourceExhausted")
	require.ErrorContains(t, slowed, "too many failed attempts")
}
