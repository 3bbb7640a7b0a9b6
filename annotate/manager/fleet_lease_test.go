package manager_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/internal/fleet"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
	"github.com/iotenablers/enablers/storage"
)

// shortLease is what the annotator's command has by default.
const shortLease = 1500 * time.Millisecond

func withShortLease(c *manager.Config) { c.LeaseDuration = shortLease }

// three starts three instances with short leases and nine channels.
func three(t *testing.T, s *site) []*instance {
	t.Helper()
	all := []*instance{s.start("a", withShortLease), s.start("b", withShortLease), s.start("c", withShortLease)}
	pass(2 * pollTime)
	for n := range 9 {
		managertest.Create(t, all[0].Manager, managertest.Channel(fmt.Sprintf("channel-%d", n)))
	}
	pass(5 * pollTime)
	require.Equal(t, map[string]int{"a": 3, "b": 3, "c": 3}, s.running())
	return all
}

func TestManager_shared_takesOverSoonAfterAKillWithAShortLease(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site) {
		all := three(t, s)
		all[1].kill()
		pass(2500 * time.Millisecond)
		require.Equal(t, 9, s.total())
		require.Zero(t, s.running()["b"])
		s.neverTwice()
	})
}

func TestManager_shared_keepsChannelsWhileTheStorageIsSlow(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site) {
		all := three(t, s)
		before := s.starts()
		for range 50 { // silent for a third of a lease, again and again
			for _, i := range all {
				i.reach.set(false, true)
			}
			pass(shortLease / 3)
			for _, i := range all {
				i.reach.set(false, false)
			}
			pass(shortLease + rand.N(shortLease/6))
		}
		require.Equal(t, before, s.starts())
		s.neverTwice()
	})
}

// hesitant does not answer the first write of a lease.
type hesitant struct {
	storage.Documents
	asked atomic.Bool
}

func (h *hesitant) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	if strings.HasPrefix(key, "instances/") && !h.asked.Swap(true) {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return h.Documents.Create(ctx, key, data)
}

func TestManager_Run_startsAlthoughTheStorageIsSlowToTakeTheLease(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site) {
		slow := &hesitant{}
		i := s.start("a", withShortLease, func(c *manager.Config) {
			slow.Documents = c.Documents
			c.Documents = slow
		})
		managertest.Create(t, i.Manager, managertest.Channel("channel"))
		pass(2 * pollTime)
		require.True(t, slow.asked.Load())
		require.Equal(t, "[a]", s.runner("channel"))
	})
}

func TestManager_shared_channelsReturnToTheirInstancesAfterAnOutageOfTheStorage(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site) {
		all := three(t, s)
		before := map[string]string{}
		for n := range 9 {
			id := fmt.Sprintf("channel-%d", n)
			before[id] = s.runner(id)
		}
		for _, i := range all {
			i.reach.set(false, true)
		}
		pass(10 * shortLease)
		require.Zero(t, s.total(), "every instance has to assume that the others took over")
		for _, i := range all {
			i.reach.set(false, false)
		}
		pass(5 * pollTime)
		require.Equal(t, 9, s.total())
		for id, runner := range before {
			require.Equal(t, runner, s.runner(id))
		}
		s.neverTwice()
	})
}

func TestManager_shared_keepsToTheLongerLeaseOfAnOlderInstance(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site) {
		old := s.start("old") // ten seconds, renewed as its version does
		managertest.Create(t, old.Manager, managertest.Channel("channel"))
		pass(2 * pollTime)
		next := s.start("next", withShortLease)
		pass(2 * pollTime)
		old.reach.set(false, true)
		pass(4 * time.Second)
		require.Equal(t, "[old]", s.runner("channel"), "its lease is longer than that of the other")
		old.reach.set(false, false)
		pass(time.Minute)
		require.Equal(t, "[old]", s.runner("channel"))
		old.kill()
		pass(takeover)
		require.Equal(t, "[next]", s.runner("channel"))
		require.NoError(t, next.Err())
		s.neverTwice()
	})
}

// The keeper of a channel may have ended with the lease, so nothing else stops the channel later.
func TestManager_shared_stopsEveryChannelThatWasTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		all := three(t, s)
		for n := range 50 {
			key := fleet.InstancePrefix + all[n%3].name
			own, err := s.documents.Get(t.Context(), key)
			require.NoError(t, err)
			require.NoError(t, s.documents.Delete(t.Context(), key, own.Revision))
			pass(shortLease / 2)
			require.LessOrEqual(t, s.total(), 9)
			pass(5 * pollTime)
			require.Equal(t, 9, s.total())
		}
	})
}

func TestManager_shared_channelsActAsOneMemberByTheLease(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site) {
		a, b := s.start("a", withShortLease), s.start("b", withShortLease)
		managertest.Create(t, a.Manager, managertest.Channel("plain"))
		all := managertest.Channel("all")
		all.Distributed = true
		managertest.Create(t, a.Manager, all)
		pass(2 * pollTime)
		holder, other := a, b // either may have been first
		if s.runner("plain") == "[b]" {
			holder, other = b, a
		}
		plain := holder.connectOptions("plain/in")
		require.Equal(t, "plain", plain.Member)
		require.NoError(t, plain.Permit())
		distributed := holder.connectOptions("all/in")
		require.Empty(t, distributed.Member)
		require.Nil(t, distributed.Permit)

		holder.reach.set(true, false)
		pass(shortLease)
		require.Error(t, plain.Permit())
		pass(2 * pollTime)
		require.Equal(t, "["+other.name+"]", s.runner("plain"))
		require.Equal(t, "plain", other.connectOptions("plain/in").Member)
		require.NoError(t, other.connectOptions("plain/in").Permit())
		s.twice = nil // the distributed channel is meant to run on both
	})
}
