package flower_test

import (
	"context"
	"crypto/tls"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

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

// Clients of one process share a channel, as gRPC calls it, and proxies share a connection
// among clients.
func TestServer_keepsStreamsOfOneConnectionApart(t *testing.T) {
	joined := make(chan *flower.Session, 3)
	address := serve(t, flower.ServerConfig{
		Handle: func(ctx context.Context, s *flower.Session) error {
			joined <- s
			<-ctx.Done()
			return nil
		},
	})
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer connection.Close()
	names := map[string]*flower.Session{}
	for range 3 {
		_, err := connection.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/flwr.proto.FlowerService/Join")
		require.NoError(t, err)
		session := <-joined
		require.Regexp(t, `^ipv4:127\.0\.0\.1:\d+(/\d+)?$`, session.ID())
		names[session.ID()] = session
	}
	require.Len(t, names, 3)
	for _, session := range names {
		require.NoError(t, session.Err())
	}
}
