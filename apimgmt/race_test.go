package apimgmt_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
)

// patience is how long a test waits for what must happen. It ends a test that hangs.
const patience = 30 * time.Second

func TestPublisher_Publish_admitsOneOfConflictingEnablers(t *testing.T) {
	for _, processes := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d processes", processes), func(t *testing.T) {
			s := newStage()
			var publishers []*apimgmt.Publisher
			for range processes {
				publishers = append(publishers, s.open(t, nil))
			}
			const enablers, rounds = 8, 4
			for round := range rounds {
				var group sync.WaitGroup
				var won atomic.Int64
				results := make([]error, enablers)
				for i := range enablers {
					group.Go(func() {
						_, results[i] = publishers[i%processes].Publish(t.Context(), apimgmt.Upload{Enabler: fmt.Sprintf("r%d-e%d", round, i),
							Definition: []byte(apitest.File("1", fmt.Sprintf("/r%d/own/%d", round, i), fmt.Sprintf("/r%d/shared", round)))})
						if results[i] == nil {
							won.Add(1)
						}
					})
				}
				group.Wait()
				require.Equal(t, int64(1), won.Load())
				for _, err := range results {
					if err != nil {
						require.ErrorIs(t, err, apimgmt.ErrConflict)
						require.ErrorContains(t, err, "/shared")
					}
				}
			}
			s.state(t, s.open(t, nil))
			list, _, err := publishers[0].List(t.Context(), apimgmt.Query{})
			require.NoError(t, err)
			require.Len(t, list, rounds)
		})
	}
}

func TestPublisher_serialisesChangesOfOneEnabler(t *testing.T) {
	s := newStage()
	publishers := []*apimgmt.Publisher{s.open(t, nil), s.open(t, nil), s.open(t, nil)}
	var group sync.WaitGroup
	faults := make([]error, 12)
	for i := range faults {
		group.Go(func() {
			p := publishers[i%len(publishers)]
			for round := range 4 {
				version := fmt.Sprint(i % 4)
				_, err := p.Publish(t.Context(), apimgmt.Upload{Enabler: "a",
					Definition: []byte(apitest.File(version, "/v"+version, fmt.Sprintf("/%d/%d", i, round)))})
				if err == nil && i%3 == 0 {
					_, err = p.SetState(t.Context(), "a", version, apimgmt.Transition{State: apimgmt.Sunset})
				}
				if err == nil && i%5 == 0 {
					err = p.DeleteVersion(t.Context(), "a", version, "", apimgmt.Condition{})
				}
				if err != nil && !errors.Is(err, apimgmt.ErrNotFound) {
					faults[i] = err
				}
			}
		})
	}
	group.Wait()
	for _, err := range faults {
		require.NoError(t, err)
	}
	for _, p := range publishers {
		require.NoError(t, p.Recover(t.Context()))
	}
	s.state(t, publishers[1])
}

// slowGateway takes its time once, until it is let go, and then does what it was
// asked for.
type slowGateway struct {
	apimgmt.Gateway
	reached, release chan struct{}
	once             sync.Once
}

func (g *slowGateway) Publish(ctx context.Context, owner string, config entity.Config) error {
	slow := false
	g.once.Do(func() { slow = true })
	if slow {
		close(g.reached)
		<-g.release
		ctx = context.WithoutCancel(ctx)
	}
	return g.Gateway.Publish(ctx, owner, config)
}

func TestPublisher_overtakenProcessKeepsLaterChanges(t *testing.T) {
	s := newStage()
	slow := &slowGateway{Gateway: s.gateway, reached: make(chan struct{}), release: make(chan struct{})}
	late, err := apimgmt.NewPublisher(apimgmt.Config{Documents: s.docs, Blobs: s.blobs, Gateway: slow, GatewayURL: "http://gateway.example"})
	require.NoError(t, err)
	quick, err := apimgmt.NewPublisher(apimgmt.Config{Documents: s.docs, Blobs: s.blobs, Gateway: s.gateway,
		GatewayURL: "http://gateway.example",
		Patience:   time.Millisecond})
	require.NoError(t, err)
	result := make(chan error)
	go func() {
		_, err := late.Publish(t.Context(), apimgmt.Upload{Enabler: "a", Definition: []byte(apitest.File("1", "/old"))})
		result <- err
	}()
	<-slow.reached
	_, err = quick.Publish(t.Context(), apimgmt.Upload{Enabler: "a", Definition: []byte(apitest.File("1", "/new"))})
	require.NoError(t, err)
	require.Equal(t, []string{"/new"}, apitest.Served(t, s.gateway, "a"))
	close(slow.release) // and now the late one tells the gateway
	require.NoError(t, <-result)
	require.Equal(t, []string{"/new"}, apitest.Served(t, s.gateway, "a"))
	s.state(t, quick)
}

func TestPublisher_Run_updatesTheGatewayOfEachProcess(t *testing.T) {
	s := newStage()
	one, two := s, s
	two.gateway = apimgmt.NewMemoryGateway(nil)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	p, err := apimgmt.NewPublisher(apimgmt.Config{Documents: s.docs, Blobs: s.blobs, Gateway: two.gateway,
		GatewayURL: "http://gateway.example",
		Interval:   time.Millisecond})
	require.NoError(t, err)
	go func() { ended <- p.Run(ctx) }()
	writer := one.open(t, nil)
	_, err = writer.Publish(t.Context(), apimgmt.Upload{Enabler: "a", Definition: []byte(apitest.File("1", "/x"))})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(apitest.Served(t, two.gateway, "a")) == 1 }, patience, time.Millisecond)
	require.NoError(t, writer.Delete(t.Context(), "a", "", apimgmt.Condition{}))
	require.Eventually(t, func() bool { return len(apitest.Served(t, two.gateway, "a")) == 0 }, patience, time.Millisecond)
	stop()
	require.NoError(t, <-ended)
}

func TestPublisher_servesReadsWithADeadGateway(t *testing.T) {
	s := prepared(t)
	dead := &faultSchedule{at: 1, dead: true}
	p, err := apimgmt.NewPublisher(apimgmt.Config{Documents: s.docs, Blobs: s.blobs,
		Gateway: faultyGateway{s.gateway, dead}, GatewayURL: "http://gateway.example"})
	require.NoError(t, err)
	_, err = p.SetState(t.Context(), "a", "1", apimgmt.Transition{State: apimgmt.Sunset})
	require.ErrorIs(t, err, apimgmt.ErrGateway)
	_, err = p.Describe(t.Context(), "a", "still here", "", apimgmt.Condition{})
	require.NoError(t, err)
	require.Error(t, p.Recover(t.Context()))
	_, err = p.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Error(t, p.Ready(t.Context()))
	s.state(t, s.open(t, nil))
}
