package apimgmt_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/entity"
)

// process starts a publisher over a stage whose calls of the gateway pass through another one.
func (s stage) process(t *testing.T, gateway apimgmt.Gateway, change func(*apimgmt.Config)) *apimgmt.Publisher {
	t.Helper()
	config := apimgmt.Config{Documents: s.docs, Blobs: s.blobs, Gateway: gateway, GatewayURL: "http://gateway.example"}
	if change != nil {
		change(&config)
	}
	p, err := apimgmt.NewPublisher(config)
	require.NoError(t, err)
	return p
}

func TestPublisher_Recover_doesNotDisturbAChangeOfALiveProcess(t *testing.T) {
	for name, recoverFirst := range map[string]bool{"that is applied afterwards": true, "that is applied before": false} {
		t.Run(name, func(t *testing.T) {
			s := newStage()
			slow := &slowGateway{Gateway: s.gateway, reached: make(chan struct{}), release: make(chan struct{})}
			live := s.process(t, slow, nil)
			result := make(chan error)
			go func() {
				_, err := live.Publish(t.Context(), apimgmt.Upload{Enabler: "a", Definition: []byte(file("1", "/a"))})
				result <- err
			}()
			<-slow.reached
			starting := s.process(t, s.gateway, nil)
			if recoverFirst {
				require.NoError(t, starting.Recover(t.Context()))
				close(slow.release)
				require.NoError(t, <-result, "the change was committed, by whichever process")
			} else {
				close(slow.release)
				require.NoError(t, starting.Recover(t.Context()))
				require.NoError(t, <-result)
			}
			require.Equal(t, "a 1 published: /a ()\n", s.state(t, starting))
			require.Equal(t, "a 1 published: /a ()\n", s.state(t, live))
			require.EqualValues(t, 1, live.Totals().Changes)
			require.Zero(t, starting.Totals().Healed)
			_, err := live.Publish(t.Context(), apimgmt.Upload{Enabler: "a", Definition: []byte(file("2", "/b"))})
			require.NoError(t, err)
			require.Contains(t, s.state(t, starting), "a 2 published: /b ()")
		})
	}
}

// deadGateway is the gateway of a process that dies in a call: what it was asked for is not
// done, and the call does not return.
type deadGateway struct {
	apimgmt.Gateway
	once          sync.Once
	reached, over chan struct{}
}

func (g *deadGateway) Publish(context.Context, string, entity.Config) error {
	g.once.Do(func() { close(g.reached) })
	<-g.over
	return errors.New("the process has died")
}

func TestPublisher_finishesTheChangeOfADeadProcessAfterPatience(t *testing.T) {
	s := newStage()
	dead := &deadGateway{Gateway: s.gateway, reached: make(chan struct{}), over: make(chan struct{})}
	died := s.process(t, dead, nil)
	var dying sync.WaitGroup
	t.Cleanup(func() {
		close(dead.over)
		dying.Wait()
	})
	dying.Go(func() {
		_, _ = died.Publish(context.WithoutCancel(t.Context()), apimgmt.Upload{Enabler: "a", Definition: []byte(file("1", "/a"))})
	})
	<-dead.reached
	synctest.Test(t, func(t *testing.T) {
		other := s.process(t, s.gateway, func(c *apimgmt.Config) { c.Patience, c.GatewayTimeout = 6*time.Second, 5*time.Second })
		begun := time.Now()
		_, err := other.Publish(t.Context(), apimgmt.Upload{Enabler: "b", Definition: []byte(file("1", "/b"))})
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(begun), 6*time.Second, "a change that may be live is waited for")
		require.Less(t, time.Since(begun), 7*time.Second)
		require.Equal(t, "a 1 published: /a ()\nb 1 published: /b ()\n", s.state(t, other))
	})
}
