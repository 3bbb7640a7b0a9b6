package manager_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
)

func TestManager_shared_stopsBeforeTheTakeoverWithoutStorage(t *testing.T) {
	for name, clogged := range map[string]bool{"calls fail": false, "calls hang": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *site) {
				a := s.start("a")
				s.createMany(a, 4)
				b := s.start("b")
				pass(4 * leaseTime)
				require.Equal(t, map[string]int{"a": 2, "b": 2}, s.running())
				a.reach.set(!clogged, clogged)
				stopped := until(t, leaseTime, "a stops", func() bool { return s.running()["a"] == 0 })
				taken := until(t, takeover, "b has them all", func() bool { return s.running()["b"] == 4 })
				t.Logf("stopped after %v, taken over %v later", stopped, taken)
				for c := range a.All() {
					if c.Status.Stopped {
						require.NotEmpty(t, c.Status.Error)
					}
				}
				a.reach.set(false, false)
				pass(4 * leaseTime)
				require.Equal(t, map[string]int{"a": 2, "b": 2}, s.running())
				require.NoError(t, b.Err())
			})
		})
	}
}

func TestManager_shared_runsChannelsAgainWhenTheStorageIsBack(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site) {
		a := s.start("a")
		s.createMany(a, 4)
		b := s.start("b")
		pass(4 * leaseTime)
		a.reach.set(true, false)
		b.reach.set(false, true)
		pass(time.Minute)
		require.Zero(t, s.total(), "none knows whether another took over")
		a.reach.set(false, false)
		b.reach.set(false, false)
		until(t, leaseTime+takeover, "all run", func() bool { return s.total() == 4 })
	})
}

func TestManager_shared_runsOnDespiteLostAnswers(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site) {
		a := s.start("a")
		s.createMany(a, 4)
		b := s.start("b")
		pass(4 * leaseTime)
		starts := s.starts()
		a.reach.lose(true)
		b.reach.lose(true)
		pass(time.Hour)
		require.Equal(t, starts, s.starts())
		require.Equal(t, map[string]int{"a": 2, "b": 2}, s.running())
	})
}

func TestManager_shared_runsOnDuringAShortOutage(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site) {
		a := s.start("a")
		s.createMany(a, 4)
		b := s.start("b")
		pass(4 * leaseTime)
		starts := s.starts()
		for range 20 {
			a.reach.set(true, false)
			b.reach.set(false, true)
			pass(leaseTime / 4)
			a.reach.set(false, false)
			b.reach.set(false, false)
			pass(leaseTime)
		}
		require.Equal(t, starts, s.starts())
		require.Equal(t, 4, s.total())
	})
}

func TestManager_unshared_runsOnWithoutStorage(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site) {
		a := s.start("a")
		s.createMany(a, 3)
		b := s.start("b")
		pass(4 * leaseTime)
		require.NoError(t, b.end())
		pass(8 * leaseTime)
		starts := s.starts()
		a.reach.set(true, false)
		pass(time.Hour)
		require.Equal(t, map[string]int{"a": 3}, s.running())
		managertest.Publish(t, s.broker, "c00/in", 0, 2)
		managertest.Await(t, s.broker, "c00/out", 2)
		a.reach.set(false, false)
		pass(time.Minute)
		require.Equal(t, starts, s.starts(), "the channels never noticed")

		// It is given up by one that comes while it cannot be seen. The broker
		// gives the session to that one, and this one does not take it back.
		a.reach.set(true, false)
		pass(leaseTime)
		s.start("c")
		pass(2 * leaseTime)
		require.Equal(t, 3, s.running()["c"])
		managertest.Publish(t, s.broker, "c00/in", 2, 4)
		managertest.Await(t, s.broker, "c00/out", 4)
		a.reach.set(false, false)
		pass(4 * leaseTime)
		require.Equal(t, 3, s.total())
		s.twice = nil // as was said
	})
}

func TestManager_Run_refusesTheNameOfALiveInstance(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site) {
		a := s.start("same")
		s.createMany(a, 2)
		twin := s.prepare("same")
		result := make(chan error, 1)
		go func() { result <- twin.Run(t.Context()) }()
		<-twin.Ready()
		err := <-result
		require.ErrorIs(t, err, manager.ErrInstanceTaken)
		require.ErrorContains(t, err, `instance "same"`)
		require.ErrorIs(t, twin.Err(), manager.ErrInstanceTaken)
		require.Equal(t, map[string]int{"same": 2}, s.running())
		require.Equal(t, 2, s.starts())
	})
}

func TestManager_Run_takesTheNameOfAKilledInstance(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site) {
		a := s.start("same")
		s.createMany(a, 2)
		a.kill()
		pass(time.Second)
		back := s.start("same")
		require.Len(t, slices.Collect(back.All()), 2, "it answers at once")
		require.Equal(t, 2, s.starts(), "and runs nothing before it is certain that no other instance does")
		took := until(t, takeover, "the channels run", func() bool { return s.total() == 2 })
		t.Logf("came back after %v", took)
		require.NoError(t, back.end())
		s.start("same")
		took = until(t, time.Second, "the channels run", func() bool { return s.total() == 2 })
		t.Logf("came back from a graceful stop after %v", took)
	})
}

func TestManager_restoreStopped_appliesToTheFirstInstance(t *testing.T) {
	restoreStopped := func(c *manager.Config) { c.RestoreStopped = true }
	inBubble(t, func(t *testing.T, s *site) {
		a := s.start("a", restoreStopped)
		s.createMany(a, 4)
		b := s.start("b", restoreStopped)
		pass(4 * leaseTime)
		require.Equal(t, map[string]int{"a": 2, "b": 2}, s.running(), "another instance is not a start of the service")
		require.NoError(t, a.end())
		pass(2 * pollTime)
		a = s.start("a", restoreStopped)
		pass(4 * leaseTime)
		require.Equal(t, 4, s.total(), "nor is a rolling restart")

		a.kill()
		b.kill()
		pass(time.Second)
		c, d := s.start("c", restoreStopped), s.start("d", restoreStopped)
		pass(4 * leaseTime)
		require.Zero(t, s.total(), "after all of them were gone it is")
		require.Len(t, slices.Collect(d.All()), 4)
		require.Equal(t, manager.Started, managertest.Patch(t, c.Manager, "c00", false))
		pass(4 * leaseTime)
		require.Equal(t, 1, s.total())
	})
}

func TestManager_distributedChannel_runsOnEveryInstance(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site) {
		a, b := s.start("a"), s.start("b")
		c := managertest.Channel("all")
		c.Distributed = true
		managertest.Create(t, a.Manager, c)
		pass(2 * pollTime)
		require.Equal(t, "[a b]", s.runner("all"))
		third := s.start("c")
		pass(2 * pollTime)
		require.Equal(t, "[a b c]", s.runner("all"))
		starts := s.starts()
		require.NoError(t, b.Restart(t.Context(), "all"))
		pass(2 * pollTime)
		require.Equal(t, starts+3, s.starts())
		a.reach.set(true, false)
		pass(time.Minute)
		require.Equal(t, "[a b c]", s.runner("all"), "no storage is needed for it")
		a.reach.set(false, false)
		pass(time.Minute)
		managertest.Patch(t, b.Manager, "all", true)
		pass(2 * pollTime)
		require.Equal(t, "[]", s.runner("all"))
		managertest.Patch(t, third.Manager, "all", false)
		pass(2 * pollTime)
		require.Equal(t, "[a b c]", s.runner("all"))
		require.NoError(t, b.Delete(t.Context(), "all"))
		pass(2 * pollTime)
		require.Zero(t, s.total())
		require.Empty(t, slices.Collect(a.All()))
		s.twice = nil // it is meant to
	})
}

// TestManager_shared_channelNeverRunsTwice lets instances come, go, die and lose the
// storage, and clients do everything meanwhile.
func TestManager_shared_channelNeverRunsTwice(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *site) {
				random := rand.New(rand.NewPCG(seed, 7))
				var alive []*instance
				cut := map[*instance]time.Time{}
				born := 0
				join := func() {
					born++
					alive = append(alive, s.start(fmt.Sprint("i", born)))
				}
				// There always are others, so that none goes on without the
				// storage because it is alone.
				join()
				pass(leaseTime)
				join()
				pass(leaseTime)
				join()
				for range 150 {
					at := random.IntN(len(alive))
					i := alive[at]
					id := fmt.Sprint("c", random.IntN(6))
					on := random.IntN(2) == 0
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					switch random.IntN(12) {
					case 0, 1, 2:
						_, _ = i.Create(ctx, managertest.WithSideTopics(managertest.Channel(id)))
					case 3:
						_ = i.Delete(ctx, id)
					case 4:
						_ = i.Restart(ctx, id)
					case 5, 6:
						_, _ = i.Patch(ctx, id, manager.Update{Run: managertest.Switched(!on), Error: managertest.Switched(on)})
					case 7:
						i.reach.set(on, !on)
						cut[i] = time.Now()
					case 8:
						i.reach.set(false, false)
					case 9:
						i.reach.lose(on)
					case 10:
						if len(alive) > 3 {
							alive = append(alive[:at], alive[at+1:]...)
							if on {
								i.kill()
							} else {
								_ = i.end()
							}
						}
					case 11:
						if len(alive) < 5 {
							join()
						}
					}
					cancel()
					for i, since := range cut {
						if time.Since(since) > 3*leaseTime && !i.isDead() {
							i.reach.set(false, false)
							delete(cut, i)
						}
					}
					pass(time.Duration(random.IntN(5000)) * time.Millisecond)
				}
				for _, i := range alive {
					i.reach.set(false, false)
					i.reach.lose(false)
				}
				pass(10 * leaseTime)
				want := 0
				for _, c := range slices.Collect(alive[0].All()) {
					if !c.Status.Stopped || c.Status.Retrying {
						want++
					}
				}
				require.Equal(t, want, s.total())
				for _, i := range alive {
					require.Equal(t, slices.Collect(alive[0].All()), slices.Collect(i.All()), "all instances show the same")
				}
			})
		})
	}
}
