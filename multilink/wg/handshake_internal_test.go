package wg

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// play runs a session through a stretch of time in steps of the watcher's beat,
// with something to send always, and returns when it called and how.
func play(s *handshaker, from time.Time, length time.Duration, o func(now time.Time) observation) map[time.Duration]call {
	calls := make(map[time.Duration]call)
	for now := from; now.Before(from.Add(length)); now = now.Add(beat) {
		seen := o(now)
		s.observe(now, seen)
		if c := s.next(now, seen); c != wait {
			calls[now.Sub(from)] = c
		}
	}
	return calls
}

func TestHandshaker_next_retriesEverySecond(t *testing.T) {
	start := time.Unix(1000, 0)
	s := handshaker{caller: true, retry: time.Second}
	calls := play(&s, start, 5*time.Second, func(time.Time) observation { return observation{reachable: true} })
	require.Equal(t, map[time.Duration]call{
		0: callAfresh, time.Second: callAfresh, 2 * time.Second: callAfresh, 3 * time.Second: callAfresh, 4 * time.Second: callAfresh,
	}, calls)
	require.False(t, s.good(start))

	answered := start.Add(5 * time.Second)
	s.observe(answered, observation{handshake: 1})
	require.True(t, s.good(answered))
	require.Equal(t, wait, s.next(answered, observation{handshake: 1, reachable: true}))
}

func TestHandshaker_next_retriesThroughALongOutage(t *testing.T) {
	start := time.Unix(1000, 0)
	s := handshaker{caller: true, retry: time.Second}
	s.observe(start, observation{handshake: 1, received: 1})
	// The link is dead from here on, and the bond probes.
	calls := play(&s, start, 200*time.Second, func(now time.Time) observation {
		return observation{handshake: 1, received: 1, reachable: true, wanted: now}
	})
	for at, c := range calls {
		if at < keyLife {
			require.Equal(t, callPolitely, c, "the keys are good still at %v", at)
		} else {
			require.Equal(t, callAfresh, c, "at %v", at)
		}
	}
	require.Equal(t, callPolitely, calls[patience], "a silent peer is called when patience ends")
	last := keyLife
	for at := keyLife; at < 200*time.Second; at += beat {
		if calls[at] == callAfresh {
			last = at
		}
		require.LessOrEqual(t, at-last, politeRetry, "at %v", at)
		if at > keyLife+politeRetry {
			require.Less(t, at-last, time.Second, "a link that carries at %v is called within a second", at)
		}
	}
}

func TestHandshaker_next_respondsUntilTheKeysAreOld(t *testing.T) {
	start := time.Unix(1000, 0)
	s := handshaker{retry: time.Second}
	silent := func(reachable bool) map[time.Duration]call {
		return play(&s, start, 12*time.Second, func(now time.Time) observation {
			return observation{reachable: reachable, wanted: now}
		})
	}
	require.Empty(t, silent(false))
	require.Equal(t, map[time.Duration]call{0: callPolitely, 5 * time.Second: callPolitely, 10 * time.Second: callPolitely}, silent(true))
}

func TestHandshaker_next_leavesAnIdleTunnelAlone(t *testing.T) {
	start := time.Unix(1000, 0)
	s := handshaker{caller: true, retry: time.Second}
	s.observe(start, observation{handshake: 1, received: 1})
	require.Empty(t, play(&s, start, time.Hour, func(time.Time) observation {
		return observation{handshake: 1, received: 1, reachable: true, wanted: start}
	}))
	later := start.Add(time.Hour)
	require.Equal(t, callAfresh, s.next(later, observation{handshake: 1, received: 1, reachable: true, wanted: later}))
}

func TestHandshaker_next_waitsWhileThePeerAnswers(t *testing.T) {
	start := time.Unix(1000, 0)
	s := handshaker{caller: true, retry: time.Second}
	heard := uint64(0)
	require.Equal(t, map[time.Duration]call{}, play(&s, start, 170*time.Second, func(now time.Time) observation {
		heard++
		return observation{handshake: 1, received: heard, reachable: true, wanted: now}
	}))
}

func TestHandshaker_hurry_skipsThePause(t *testing.T) {
	now := time.Unix(1000, 0)
	s := handshaker{caller: true, retry: time.Second}
	o := observation{reachable: true}
	require.Equal(t, callAfresh, s.next(now, o))
	require.Equal(t, wait, s.next(now.Add(time.Millisecond), o))
	s.hurry()
	require.Equal(t, callAfresh, s.next(now.Add(2*time.Millisecond), o))
}

func TestHandshaker_live_endsWithTheKeysOrWithSilence(t *testing.T) {
	start := time.Unix(1000, 0)
	s := handshaker{}
	require.False(t, s.live(start))
	s.observe(start, observation{received: 148})
	require.False(t, s.live(start), "a call alone is no session")
	s.observe(start, observation{handshake: 1, received: 200})
	require.True(t, s.live(start.Add(silence-1)))
	require.False(t, s.live(start.Add(silence)))
	for at := range keyLife / time.Second {
		s.observe(start.Add(at*time.Second), observation{handshake: 1, received: 201 + uint64(at)})
	}
	require.True(t, s.live(start.Add(keyLife-1)))
	require.False(t, s.live(start.Add(keyLife)))
}
