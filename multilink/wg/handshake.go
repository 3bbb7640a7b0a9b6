package wg

import "time"

// Times of handshakes. WireGuard's keys live 180 s; see its paper, section 6.1.
const (
	// keyLife is how long keys count as good after their handshake was seen: less
	// than they live, because it is seen a little late.
	keyLife = 179 * time.Second
	// patience is how long a peer may be silent, while packets are sent to it,
	// before a handshake is started: it may have restarted and lost the keys.
	patience = 2 * time.Second
	// politeRetry is the pause between calls that leave the keys alone.
	politeRetry = 5 * time.Second
	// silence is how long a peer may be silent before it counts as gone: longer than
	// the longest interval of a bond's probes.
	silence = 15 * time.Second
	// interest is how long after the last packet keys are still needed.
	interest = 10 * time.Second
)

// call is what to do for a tunnel.
type call int

const (
	// wait for what comes.
	wait call = iota
	// callPolitely begins a handshake and leaves the keys as they are.
	callPolitely
	// callAfresh forgets keys that are of no use any more, and a handshake that
	// was not answered, and begins another at once.
	callAfresh
)

// handshaker decides when to start a handshake with a peer. It has no clock and no
// lock of its own.
type handshaker struct {
	// caller is true for the end that was given the other's address.
	caller bool
	// retry is the caller's pause between two calls.
	retry time.Duration

	handshake int64     // WireGuard's time of the last one, to see it change
	since     time.Time // when that change was seen
	received  uint64    // WireGuard's count, to see it change
	heard     time.Time // when that change was seen
	called    time.Time
}

// observation is what is known of a peer at a moment.
type observation struct {
	handshake int64     // of the last handshake, in nanoseconds since 1970; 0 is never
	received  uint64    // bytes
	reachable bool      // an endpoint is known
	wanted    time.Time // when something was last to be sent
}

// observe takes in what is known now.
func (s *handshaker) observe(now time.Time, o observation) {
	if o.handshake != 0 && o.handshake != s.handshake {
		s.handshake = o.handshake
		s.since = now
		s.heard = now
	}
	if o.received != s.received {
		s.received, s.heard = o.received, now
	}
}

// good reports whether there are keys to send with.
func (s *handshaker) good(now time.Time) bool {
	return !s.since.IsZero() && now.Sub(s.since) < keyLife
}

// live reports whether a session is in use: there are keys, and the peer was heard lately.
func (s *handshaker) live(now time.Time) bool { return s.good(now) && now.Sub(s.heard) < silence }

// next returns what to do now, and takes it as done.
func (s *handshaker) next(now time.Time, o observation) call {
	due := func(pause time.Duration) bool { return s.called.IsZero() || now.Sub(s.called) >= pause }
	wanted := !o.wanted.IsZero() && now.Sub(o.wanted) < interest
	var c call
	switch {
	case !o.reachable:
	case !s.good(now) && s.caller && (s.since.IsZero() || wanted) && due(s.retry):
		c = callAfresh
	case !s.good(now) && !s.caller && wanted && due(politeRetry):
		c = callPolitely
	case s.good(now) && s.caller && o.wanted.After(s.heard) && now.Sub(s.heard) >= patience && due(politeRetry):
		c = callPolitely
	}
	if c != wait {
		s.called = now
	}
	return c
}

// hurry has the next call made without a pause: the link carries again.
func (s *handshaker) hurry() { s.called = time.Time{} }
