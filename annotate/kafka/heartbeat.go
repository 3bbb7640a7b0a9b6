package kafka

import (
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

// faultMemory is how long a fault of a partition lasts after the last error. The client
// tries again four times a second and reports an error each time.
const faultMemory = time.Second

// faults holds errors of partitions. A partition that moves to another broker causes errors
// for a moment, while the subscription is healthy. Health reports errors that last longer.
type faults struct {
	last      error
	since, at time.Time // the first and the last error
}

func (f *faults) note(err error, now time.Time) {
	if now.Sub(f.at) > faultMemory {
		f.since = now
	}
	f.last, f.at = err, now
}

// lasting returns the last error, if errors have come for a while and still do.
func (f *faults) lasting(now time.Time) error {
	if now.Sub(f.at) > faultMemory || f.at.Sub(f.since) < faultMemory {
		return nil
	}
	return f.last
}

// watch sends heartbeats in addition to the client's, to find a lost coordinator in time:
// the messages of the partitions must be void before the cluster assigns the partitions to
// other members. While there is no generation it checks whether the cluster is reachable.
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

// miss looks up the group's coordinator while there is no generation. Joining the group finds
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

// feel reports whether the generation goes on, and if not, the error of the coordinator. It
// waits for half of the session timeout.
func (s *subscription) feel(current *generation) (alive bool, why error) {
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
		return false, fmt.Errorf("no answer from the group's coordinator within %s", patience)
	case <-s.ctx.Done():
		return true, nil
	}
}

// listen records the errors that the client reports.
func (s *subscription) listen() {
	for err := range s.members.Errors() {
		var about *sarama.ConsumerError
		if errors.As(err, &about) {
			err = about.Err
		}
		s.broker.log.Debug("a partition has an error", "topic", s.topic, "group", s.group, "error", err)
		s.mu.Lock()
		s.faults.note(err, time.Now())
		s.mu.Unlock()
	}
}
