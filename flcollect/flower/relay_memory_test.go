package flower_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// largeBytes is less than the size of a message with the model of a large fit, and more than
// what flow control lets through unread.
const largeBytes = 8 << 20

// fitLarge has the client of a session train a large model, and then ends the session.
func fitLarge(ctx context.Context, s *flower.Session) error {
	res, err := s.Fit(ctx, flower.FitIns{Parameters: flower.FromTensors(tensor.FromFloat32s(make([]float32, largeBytes/4)))})
	if err != nil {
		return err
	}
	res.Release()
	return s.Reconnect(ctx, 0)
}

// serveRelay runs a server that relays its clients, with memory for one large message.
func serveRelay(t *testing.T, inner *pipes) (outer *pipes, server *flower.Server, relayed <-chan error) {
	t.Helper()
	ended, outer := make(chan error, 10), newPipes()
	server = serveOn(t, outer, flower.ServerConfig{
		Uploads: largeBytes, Handle: func(ctx context.Context, s *flower.Session) error {
			config := relayTo("inner:1")
			config.Client.Client, config.Dial = s.ID(), inner.dial
			_, err := s.Relay(ctx, config)
			ended <- err
			return s.Reconnect(ctx, 0)
		},
	})
	return outer, server, ended
}

func TestSession_Relay_holdsAnswersUntilTheOtherServerTakesThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		inner := newPipes()
		serveOn(t, inner, flower.ServerConfig{Relay: onlySecret, Handle: fitLarge,
			Admit: func(ctx context.Context, _ string, size int64) (func(), error) {
				if size > largeBytes {
					select {
					case <-goOn:
					case <-ctx.Done():
					}
				}
				return func() {}, context.Cause(ctx)
			}})
		outer, server, relayed := serveRelay(t, inner)
		training, all := make(chan struct{}, 3), make(chan struct{})
		var clients []<-chan error
		for range 3 {
			clients = append(clients, start(t, flower.ClientConfig{Target: "outer:1", Dial: outer.dial, Trainer: trainer{
				examples: 3, fit: func(context.Context) error {
					training <- struct{}{}
					<-all
					return nil
				},
			}}))
		}
		for range clients { // an instruction is not held while its client trains
			<-training
		}
		close(all)
		synctest.Wait()
		used, waiting := flower.RelayMemory(server)
		require.Equal(t, int64(largeBytes), used)
		require.Equal(t, len(clients)-1, waiting)
		close(goOn)
		for _, client := range clients {
			require.NoError(t, <-relayed)
			require.NoError(t, <-client)
		}
		used, waiting = flower.RelayMemory(server)
		require.Zero(t, used)
		require.Zero(t, waiting)
	})
}

func TestSession_Relay_cutsAClientThatDoesNotReadItsInstruction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newPipes()
		serveOn(t, inner, flower.ServerConfig{Relay: onlySecret, Handle: fitLarge})
		outer, server, relayed := serveRelay(t, inner)
		transport := rawTransport(outer.dial)
		defer transport.CloseIdleConnections()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		silent, answers := io.Pipe()
		defer answers.Close()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://outer/flwr.proto.FlowerService/Join", silent)
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/grpc")
		request.Header.Set("Te", "trailers")
		response, err := transport.RoundTrip(request) // with the first bytes of the instruction
		require.NoError(t, err)
		defer response.Body.Close()
		used, _ := flower.RelayMemory(server)
		require.Equal(t, int64(largeBytes), used)
		client := start(t, flower.ClientConfig{Target: "outer:1", Dial: outer.dial, Trainer: trainer{examples: 3}})
		require.NoError(t, <-client)
		ends := []error{<-relayed, <-relayed}
		require.True(t, (ends[0] == nil) != (ends[1] == nil), "%v", ends)
		used, _ = flower.RelayMemory(server)
		require.Zero(t, used)
	})
}
