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
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
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
				_, err := live.Publish(t.Context(), apimgmt.Upload{Enabler: "a", Definition: []byte(apitest.File("1", "/a"))})
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
			_, err := live.Publish(t.Context(), apimgmt.Upload{Enabler: "a", Definition: []byte(apitest.File("2", "/b"))})
			require.NoError(t, err)
			require.Contains(t, s.state(t, starting), "a 2 published: /b ()")
		})
	}
}

// stoppedGateway stops in its first call, before or after it has done what it was asked for, and
// then fails or not.
type stoppedGateway struct {
	apimgmt.Gateway
	acts             bool
	fault            error
	once             sync.Once
	reached, release chan struct{}
}

func (g *stoppedGateway) Publish(ctx context.Context, owner string, config entity.Config) error {
	first := false
	g.once.Do(func() { first = true })
	if !first {
		return g.Gateway.Publish(ctx, owner, config)
	}
	if g.acts {
		if err := g.Gateway.Publish(ctx, owner, config); err != nil {
			return err
		}
	}
	close(g.reached)
	<-g.release
	return g.fault
}

// A change has two processes at work on it, and their gateways do not agree. The first one
// that writes down what becomes of it decides.
func TestPublisher_Publish_hasOneOutcomeWhateverTwoProcessesMakeOfIt(t *testing.T) {
	for name, c := range map[string]struct {
		live, resuming bool // whose gateway takes it
		liveFirst      bool
	}{
		"the live one refuses before the other commits":  {resuming: true, liveFirst: true},
		"the live one refuses after the other commits":   {resuming: true},
		"the other refuses after the live one commits":   {live: true, liveFirst: true},
		"the other refuses before the live one commits":  {live: true},
		"both refuse, the live one first":                {liveFirst: true},
		"both refuse, the live one last":                 {},
		"both commit, the one that resumes is the first": {live: true, resuming: true},
	} {
		for kind, before := range map[string]string{"new": "", "that exists": "1"} {
			t.Run(name+", of an enabler "+kind, func(t *testing.T) {
				s := newStage()
				want, made := "", "a 2 published: /new ()\n"
				if before != "" {
					_, err := s.process(t, s.gateway, nil).Publish(t.Context(),
						apimgmt.Upload{Enabler: "a", Definition: []byte(apitest.File("1", "/old"))})
					require.NoError(t, err)
					want, made = "a 1 published: /old ()\n", "a 1 published: /old ()\na 2 published: /new ()\n"
				}
				gateways := map[bool]*stoppedGateway{}
				for live, takes := range map[bool]bool{true: c.live, false: c.resuming} {
					g := &stoppedGateway{Gateway: s.gateway, acts: takes, reached: make(chan struct{}), release: make(chan struct{})}
					if !takes {
						g.fault = errors.New("the gateway is broken")
					}
					gateways[live] = g
				}
				live, resuming := s.process(t, gateways[true], nil), s.process(t, gateways[false], nil)
				result, recovered := make(chan error, 1), make(chan error, 1)
				go func() {
					_, err := live.Publish(t.Context(), apimgmt.Upload{Enabler: "a", Definition: []byte(apitest.File("2", "/new"))})
					result <- err
				}()
				<-gateways[true].reached
				go func() { recovered <- resuming.Recover(t.Context()) }()
				<-gateways[false].reached
				var err error
				if c.liveFirst {
					close(gateways[true].release)
					err = <-result
					close(gateways[false].release)
					require.NoError(t, <-recovered)
				} else {
					close(gateways[false].release)
					require.NoError(t, <-recovered)
					close(gateways[true].release)
					err = <-result
				}
				if first := map[bool]bool{true: c.live, false: c.resuming}[c.liveFirst]; first {
					require.NoError(t, err)
					want = made
				} else {
					require.ErrorIs(t, err, apimgmt.ErrGateway)
				}
				next := s.process(t, s.gateway, nil)
				require.NoError(t, next.Recover(t.Context()))
				require.Equal(t, want, s.state(t, next), "with the blobs of what is there, and no others")
				_, err = live.Publish(t.Context(), apimgmt.Upload{Enabler: "a", Definition: []byte(apitest.File("3", "/third"))})
				require.NoError(t, err)
				require.Contains(t, s.state(t, next), "a 3 published: /third ()")
			})
		}
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
		_, _ = died.Publish(context.WithoutCancel(t.Context()), apimgmt.Upload{Enabler: "a", Definition: []byte(apitest.File("1", "/a"))})
	})
	<-dead.reached
	synctest.Test(t, func(t *testing.T) {
		other := s.process(t, s.gateway, func(c *apimgmt.Config) { c.Patience, c.GatewayTimeout = 6*time.Second, 5*time.Second })
		begun := time.Now()
		_, err := other.Publish(t.Context(), apimgmt.Upload{Enabler: "b", Definition: []byte(apitest.File("1", "/b"))})
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(begun), 6*time.Second, "a change that may be live is waited for")
		require.Less(t, time.Since(begun), 7*time.Second)
		require.Equal(t, "a 1 published: /a ()\nb 1 published: /b ()\n", s.state(t, other))
	})
}
