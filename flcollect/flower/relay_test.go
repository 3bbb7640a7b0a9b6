package flower_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

func fit(ctx context.Context, s *flower.Session) ([]float64, error) {
	res, err := s.Fit(ctx, flower.FitIns{Parameters: flower.FromTensors(tensor.FromFloat32s(make([]float32, 10_000)))})
	if err != nil {
		return nil, err
	}
	defer res.Release()
	model, err := res.Parameters.Decode()
	if err != nil {
		return nil, err
	}
	return model[0].Float64s(), nil
}

// relayTo returns the configuration of a relay whose token is right.
func relayTo(target string) flower.RelayConfig {
	return flower.RelayConfig{Target: target, Client: flower.Relayed{
		Token: "secret", Job: "job 7", Client: "client@edge", Identity: "key:1", Address: "192.0.2.1:5", Name: "n", Label: "Ward 7",
		Header: map[string]string{"collector-edge-job": "x"},
	}}
}

func onlySecret(token string) error {
	if token != "secret" {
		return fmt.Errorf("the token %q is not that of a collector", token)
	}
	return nil
}

func TestSession_Relay_hasAnotherServerInstructTheClient(t *testing.T) {
	peers := make(chan flower.Peer, 1)
	inner := serve(t, flower.ServerConfig{
		Relay: onlySecret, Authorize: func(context.Context, flower.Caller) (string, error) { return "", errors.New("no token") },
		Handle: func(ctx context.Context, s *flower.Session) error {
			peers <- s.Peer()
			for range 3 {
				if numbers, err := fit(ctx, s); err != nil || numbers[9999] != 1 {
					return fmt.Errorf("fit: %v, %w", numbers, err)
				}
			}
			if _, err := s.Properties(ctx, flower.GetPropertiesIns{Config: flower.Config{"k": "v"}}); err != nil {
				return err
			}
			return s.Reconnect(ctx, 7)
		},
	})
	relayed := make(chan error, 1)
	outer := serve(t, flower.ServerConfig{Handle: func(ctx context.Context, s *flower.Session) error {
		seconds, err := s.Relay(ctx, relayTo(inner))
		if err == nil && seconds != 7 {
			err = fmt.Errorf("%d seconds", seconds)
		}
		if err == nil {
			_, err = fit(ctx, s) // the session goes on
		}
		relayed <- err
		return s.Reconnect(ctx, 0)
	}})
	client := start(t, flower.ClientConfig{Target: outer, Trainer: trainer{examples: 3}})
	require.NoError(t, <-relayed)
	require.NoError(t, <-client)
	peer := <-peers
	require.Equal(t, &flower.Relayed{Job: "job 7", Client: "client@edge", Identity: "key:1", Address: "192.0.2.1:5", Name: "n",
		Label: "Ward 7", Header: map[string]string{"collector-edge-job": "x"}}, peer.Relay)
	require.Equal(t, "x", peer.Header("Collector-Edge-Job"))
	require.Equal(t, "Ward 7", peer.Label())
	require.Equal(t, "192.0.2.1:5", peer.Addr)
}

func TestSession_Relay_keepsTheClientWhenTheOtherServerDies(t *testing.T) {
	training := make(chan struct{})
	goOn := make(chan struct{})
	first := true
	client := trainer{examples: 3, fit: func(context.Context) error {
		if first {
			first = false
			close(training)
			<-goOn
		}
		return nil
	}}
	dying, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	inner, err := flower.NewServer(flower.ServerConfig{Relay: onlySecret, Handle: func(ctx context.Context, s *flower.Session) error {
		_, err := fit(ctx, s)
		return err
	}})
	require.NoError(t, err)
	serving, kill := context.WithCancel(context.Background())
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		_ = inner.Serve(serving, dying)
	}()
	relayed := make(chan error, 1)
	results := make(chan error, 1)
	outer := serve(t, flower.ServerConfig{Handle: func(ctx context.Context, s *flower.Session) error {
		_, err := s.Relay(ctx, relayTo(dying.Addr().String()))
		relayed <- err
		numbers, err := fit(ctx, s)
		if err == nil && numbers[0] != 1 {
			err = fmt.Errorf("the answer is %v", numbers[0])
		}
		results <- err
		return s.Reconnect(ctx, 0)
	}})
	ended := start(t, flower.ClientConfig{Target: outer, Trainer: client})
	<-training
	kill()
	<-killed
	require.ErrorIs(t, <-relayed, flower.ErrSetAside)
	close(goOn)
	require.NoError(t, <-results)
	require.NoError(t, <-ended)
}

func TestSession_Relay_isRefusedWithoutTheToken(t *testing.T) {
	for _, config := range []flower.ServerConfig{{Relay: func(string) error { return errors.New("no such token") }}, {}} {
		config.Handle = func(context.Context, *flower.Session) error { return errors.New("handled") }
		inner := serve(t, config)
		relayed := make(chan error, 1)
		outer := serve(t, flower.ServerConfig{Handle: func(ctx context.Context, s *flower.Session) error {
			_, err := s.Relay(ctx, relayTo(inner))
			relayed <- err
			return s.Reconnect(ctx, 0)
		}})
		client := start(t, flower.ClientConfig{Target: outer, Trainer: trainer{}})
		require.ErrorContains(t, <-relayed, "PermissionDenied")
		require.NoError(t, <-client)
	}
}

func TestSession_Relay_returnsThatTheClientIsUnfit(t *testing.T) {
	inner := serve(t, flower.ServerConfig{Relay: onlySecret, Handle: func(context.Context, *flower.Session) error {
		return fmt.Errorf("%w: it is 100 %% too old", flower.ErrUnfit)
	}})
	outer := serve(t, flower.ServerConfig{Handle: func(ctx context.Context, s *flower.Session) error {
		_, err := s.Relay(ctx, relayTo(inner))
		return err
	}})
	err := <-start(t, flower.ClientConfig{Target: outer, Trainer: trainer{}})
	require.ErrorIs(t, err, flower.ErrUnfit)
	require.EqualError(t, err, "flower client of "+outer+": flower: the client cannot take part: it is 100 % too old")
}

func TestSession_Fit_dropsAnAnswerThatWasSetAside(t *testing.T) {
	training, goOn := make(chan struct{}, 2), make(chan struct{}, 2)
	results := make(chan error, 2)
	address := serve(t, flower.ServerConfig{Handle: func(ctx context.Context, s *flower.Session) error {
		asking, cancel := context.WithCancelCause(ctx)
		go func() {
			<-training
			cancel(flower.ErrSetAside)
			goOn <- struct{}{}
			goOn <- struct{}{}
		}()
		_, err := fit(asking, s)
		results <- err
		_, err = s.Properties(ctx, flower.GetPropertiesIns{})
		results <- err
		return s.Reconnect(ctx, 0)
	}})
	client := start(t, flower.ClientConfig{Target: address, Trainer: trainer{fit: func(context.Context) error {
		training <- struct{}{}
		<-goOn
		return nil
	}}})
	require.ErrorIs(t, <-results, flower.ErrSetAside)
	require.NoError(t, <-results)
	require.NoError(t, <-client)
}

func TestClient_Run_joinsAgainAfterABrokenSession(t *testing.T) {
	sessions := 0
	address := serve(t, flower.ServerConfig{Handle: func(ctx context.Context, s *flower.Session) error {
		if sessions++; sessions < 3 {
			return errors.New("broken")
		}
		return s.Reconnect(ctx, 0)
	}})
	require.NoError(t, <-start(t, flower.ClientConfig{Target: address, Trainer: trainer{}, Patience: time.Minute}))
	require.Equal(t, 3, sessions)
}

func TestClient_Run_endsWithAnErrorOfTheTrainer(t *testing.T) {
	broken := errors.New("no data")
	address := serve(t, flower.ServerConfig{Handle: func(ctx context.Context, s *flower.Session) error {
		_, err := fit(ctx, s)
		return err
	}})
	client := start(t, flower.ClientConfig{
		Target: address, Trainer: trainer{fit: func(context.Context) error { return broken }}, Patience: time.Minute,
	})
	require.ErrorIs(t, <-client, broken)
}
