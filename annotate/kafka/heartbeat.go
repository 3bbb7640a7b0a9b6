package kafka

import (
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

// faultMemory is how long trouble with a partition lasts after the last
// complaint. The client tries again four times a second and complains each
// time.
const faultMemory = time.Second

// faults remembers trouble with partitions. A partition that moves to another
// broker gives some for a moment and nothing is wrong with the subscription;
// what lasts longer shows in its health.
type faults struct {
	last      error
	since, at time.Time // the first and the last complaint
}

func (f *faults) note(err error, now time.Time) {
	if now.Sub(f.at) > faultMemory {
		f.since = now
	}
	f.last, f.at = err, now
}

// lasting is the trouble that has lasted for a while and does so now.
func (f *faults) lasting(now time.Time) error {
	if now.Sub(f.at) > faultMemory || f.at.Sub(f.since) < faultMemory {
		return nil
	}
	return f.last
}

// watch gives signs of life of its own, beside the client's, and so learns of a
// lost coordinator early enough: before the cluster may hand our partitions to
// others, what we hold of them is void. While there is no session it looks
// whether that is for want of a cluster.
func (s *subscription) watch() {
	ticker := time.NewTicker(s.broker.opts.HeartbeatInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-s.ctx.Done():
			return
		}
		s.mu.Lock()
		current := s.current
		s.mu.Unlock()
		if current == nil {
			s.miss()
			continue
		}
		if alive, why := s.feel(current); !alive {
			s.lose(current, why)
		}
	}
}

// miss looks up the group's coordinator while there is no session. Joining the group finds
// a lost cluster too, but it may have to wait for a transaction to end.
func (s *subscription) miss() {
	s.mu.Lock()
	known := s.trouble != nil
	s.mu.Unlock()
	if known {
		return
	}
	if err := s.client.RefreshCoordinator(s.group); err != nil {
		s.reportAbsence(err)
	}
}

// feel reports whether the session goes on, and what is wrong with the
// coordinator if it does not. No answer in half of the session's time is an
// answer as well.
func (s *subscription) feel(current *session) (alive bool, why error) {
	type answer struct {
		alive bool
		err   error
	}
	answered := make(chan answer, 1)
	s.work.Go(func() {
		alive, err := s.cluster.alive(current.member)
		answered <- answer{alive, err}
	})
	patience := s.broker.opts.SessionTimeout / 2
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case a := <-answered:
		return a.alive, a.err
	case <-timer.C:
		return false, fmt.Errorf("no answer of the group's coordinator within %s", patience)
	case <-s.ctx.Done():
		return true, nil
	}
}

// listen notes what the client has to complain about.
func (s *subscription) listen() {
	for err := range s.members.Errors() {
		var about *sarama.ConsumerError
		if errors.As(err, &about) {
			err = about.Err
		}
		s.broker.log.Debug("trouble with a partition", "topic", s.topic, "group", s.group, "error", err)
		s.mu.Lock()
		s.faults.note(err, time.Now())
		s.mu.Unlock()
	}
}
