package flcollect_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/internal/server/servertest"
	"github.com/iotenablers/enablers/storage"
)

func TestServer_Handle_identifiesAClientByTheKeyOfItsCertificate(t *testing.T) {
	authority := servertest.NewAuthority(t)
	options := flcollect.Config{
		Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(), Initial: zeros, Dir: t.TempDir(),
		Identify: func(*flower.Session) string { return "a name that any client may take" },
	}
	server, err := flcollect.NewServer(options)
	require.NoError(t, err)
	flowers, err := flower.NewServer(flower.ServerConfig{Handle: server.Handle, TLS: authority.ServerTLS(tls.RequireAndVerifyClientCert)})
	require.NoError(t, err)
	w := serve(t, loopback{}, options, server, flowers, loopback{}.listen(t))
	require.NoError(t, w.Start(t.Context(), "job", config(2, 1)))
	own := authority.Issue("hospital")
	der, err := own.PublicKey()
	require.NoError(t, err)
	sum := sha256.Sum256(der)
	for round := 1; round <= 2; round++ {
		ctx, cancel := context.WithCancel(t.Context())
		authority.Prolong(own, "hospital") // each round with a new certificate
		client, err := flower.NewClient(flower.ClientConfig{
			Target: w.address, Trainer: trainer{step: 1, examples: 1}, TLS: authority.ClientTLS(own),
		})
		require.NoError(t, err)
		var group sync.WaitGroup
		group.Go(func() { _ = client.Run(ctx) }) // ends with the round
		w.until(t, "job", "further", func(s flcollect.Status) bool { return s.Round >= round })
		cancel()
		group.Wait()
		found, err := w.Report(t.Context(), "job", round, 0, 0)
		require.NoError(t, err)
		require.Equal(t, "key:"+hex.EncodeToString(sum[:]), found.Clients[0].Client)
		require.Equal(t, "hospital", found.Clients[0].Session)
	}
}

// Clients that share a token are not one client, unless the program says so.
func TestServer_Handle_namesClientsByTheirTokens(t *testing.T) {
	identities := func(identify func(*flower.Session) string) (all []string) {
		options := flcollect.Config{
			Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(), Initial: zeros, Dir: t.TempDir(), Identify: identify,
		}
		server, err := flcollect.NewServer(options)
		require.NoError(t, err)
		flowers, err := flower.NewServer(flower.ServerConfig{
			Handle: server.Handle,
			Authorize: func(_ context.Context, caller flower.Caller) (string, error) {
				return strings.TrimPrefix(caller.Token, "token-of-"), nil
			},
		})
		require.NoError(t, err)
		w := serve(t, loopback{}, options, server, flowers, loopback{}.listen(t))
		var group sync.WaitGroup
		defer group.Wait()
		for range 2 {
			client, err := flower.NewClient(flower.ClientConfig{
				Target: w.address, Trainer: trainer{step: 1, examples: 1}, Token: "token-of-ward-3",
			})
			require.NoError(t, err)
			group.Go(func() { _ = client.Run(t.Context()) }) // ends with the job
		}
		require.NoError(t, w.Start(t.Context(), "job", withAvailable(config(1, 2), 2, 2)))
		w.untilState(t, "job", report.Finished)
		found, err := w.Report(t.Context(), "job", 1, 0, 0)
		require.NoError(t, err)
		for _, c := range found.Clients {
			require.Regexp(t, `^ward-3@ipv4:127\.0\.0\.1:\d+$`, c.Session)
			all = append(all, c.Client)
		}
		return all
	}
	all := identities(nil)
	require.Len(t, all, 2)
	require.NotEqual(t, all[0], all[1])
	for _, identity := range all {
		require.Regexp(t, `^session:ward-3@ipv4:`, identity)
	}
	byToken := func(s *flower.Session) string { return s.Peer().Name }
	require.Equal(t, []string{"name:ward-3", "name:ward-3"}, identities(byToken))
}

func TestConfig_Identify_recognisesAClientThatReconnects(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros, Identify: named})
	_, leave := w.joinAs(t, trainer{examples: 0}, "liar")
	w.joinAs(t, towards(1), "honest-1")
	slow, gate := gated(1, 1)
	w.joinAs(t, slow, "honest-2")
	require.NoError(t, w.Start(t.Context(), "job", withAvailable(config(5, 2), 3, 2)))
	gate <- struct{}{}
	gate <- struct{}{}
	w.until(t, "job", "at round 2", func(s flcollect.Status) bool { return s.Round == 2 && len(s.Suspended) == 1 })
	leave()
	w.joinAs(t, trainer{examples: 0}, "liar")
	w.ready(t, 3)
	for range 3 {
		gate <- struct{}{}
	}
	w.untilState(t, "job", report.Finished)
	require.Equal(t, []report.Outcome{report.Refused, report.Refused, "", "", report.Refused}, w.fates(t, 5, "name:liar"))
}
