package flower_test

import (
	"context"
	"crypto/tls"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

func TestIdentify_namesClientsByTheirCertificates(t *testing.T) {
	authority := servertest.NewAuthority(t)
	ids := make(chan string, 2)
	address := serve(t, flower.ServerConfig{
		TLS: authority.ServerTLS(tls.RequireAndVerifyClientCert),
		Handle: func(ctx context.Context, s *flower.Session) error {
			ids <- s.ID()
			return s.Reconnect(ctx, 0)
		},
	})
	own := authority.ClientTLS(authority.Issue("hospital-7"))
	require.NoError(t, <-start(t, flower.ClientConfig{Target: address, Trainer: trainer{}, TLS: own}))
	require.Equal(t, "hospital-7", <-ids)

	require.Error(t, <-start(t, flower.ClientConfig{Target: address, Trainer: trainer{}, TLS: authority.ClientTLS()}))
	require.Error(t, <-start(t, flower.ClientConfig{Target: address, Trainer: trainer{}}), "without TLS")
	require.Empty(t, ids)
}

func TestServer_replacesTheSessionOfAClientThatJoinsAgain(t *testing.T) {
	joined := make(chan *flower.Session, 2)
	address := serve(t, flower.ServerConfig{
		Identify: func(flower.Peer) (string, error) { return "the one", nil },
		Handle: func(ctx context.Context, s *flower.Session) error {
			joined <- s
			<-ctx.Done()
			return nil
		},
	})
	first := start(t, flower.ClientConfig{Target: address, Trainer: trainer{}})
	old := <-joined
	second := start(t, flower.ClientConfig{Target: address, Trainer: trainer{}})
	young := <-joined
	<-old.Done()
	require.ErrorIs(t, old.Err(), flower.ErrReplaced)
	require.ErrorContains(t, <-first, "AlreadyExists")
	require.NoError(t, young.Reconnect(t.Context(), 0))
	require.NoError(t, <-second)
}
