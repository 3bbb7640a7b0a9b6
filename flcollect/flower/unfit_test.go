package flower_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
)

func TestClient_Run_returnsThatTheClientIsUnfit(t *testing.T) {
	header := make(chan string, 1)
	address := serve(t, flower.ServerConfig{Handle: func(_ context.Context, s *flower.Session) error {
		header <- s.Peer().Header("some-key")
		return fmt.Errorf("%w: it is too old", flower.ErrUnfit)
	}})
	err := <-start(t, flower.ClientConfig{Target: address, Trainer: trainer{}, Header: map[string]string{"some-key": "a value"}})
	require.ErrorIs(t, err, flower.ErrUnfit)
	require.ErrorContains(t, err, "flower: the client cannot take part: it is too old")
	require.Equal(t, "a value", <-header)
}

func TestTrainer_Fit_sendsItsStatusErrorAndGoesOn(t *testing.T) {
	reported := errors.New("the second is refused")
	answers := make(chan error, 2)
	fits := 0
	address := serve(t, flower.ServerConfig{Handle: func(ctx context.Context, s *flower.Session) error {
		for range 2 {
			res, err := s.Fit(ctx, flower.FitIns{Parameters: flower.FromTensors()})
			if res != nil {
				res.Release()
			}
			answers <- err
		}
		return s.Reconnect(ctx, 0)
	}})
	err := <-start(t, flower.ClientConfig{Target: address, Trainer: trainer{fit: func(context.Context) error {
		if fits++; fits == 1 {
			return fmt.Errorf("fit: %w", &flower.StatusError{Status: flower.Status{Code: flower.FitNotImplemented, Message: reported.Error()}})
		}
		return nil
	}}})
	require.NoError(t, err)
	var failed *flower.StatusError
	require.ErrorAs(t, <-answers, &failed)
	require.Equal(t, reported.Error(), failed.Message)
	require.NoError(t, <-answers)
}
