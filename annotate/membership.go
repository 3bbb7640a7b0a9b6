package annotate

import (
	"context"
	"errors"
	"sync"
	"time"
)

// membership is the part of an instance in its fleet, from joining to
// resigning.
type membership struct {
	manager *Manager
	watch   watch
	joined  bool
}

// resignTimeout is how long giving the lease back may take. Without it the
// others wait until it has run out.
const resignTimeout = 5 * time.Second

// enter joins the others, unless there is a lease of this name that has to be
// watched first.
func (m *Manager) enter(ctx context.Context) (*membership, error) {
	s := &membership{manager: m}
	var err error
	s.joined, err = m.fleet.join(ctx, &s.watch)
	return s, err
}

// run holds the lease until ctx ends, and then stops everything and gives it
// back.
func (s *membership) run(ctx context.Context) error {
	m := s.manager
	hold, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	failed := make(chan error, 1)
	var holders sync.WaitGroup
	holders.Go(func() { failed <- s.keepLease(hold) })
	holders.Go(func() { s.guard(hold) })
	m.tasks.Go(func() { m.reconcile(m.ctx) })
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
		m.mu.Lock()
		m.fatal = err
		m.mu.Unlock()
	}
	err = errors.Join(err, m.shutDown())
	end()
	holders.Wait()
	resign, cancel := context.WithTimeout(context.Background(), resignTimeout)
	defer cancel()
	if left := m.fleet.resign(resign); left != nil {
		m.config.Logger.Warn("lease not given back, channels are taken over when it has run out", "error", left)
	}
	return err
}

// keepLease joins the others and renews the lease, and joins anew when it was
// lost. It returns nil when ctx ends.
func (s *membership) keepLease(ctx context.Context) error {
	m, f := s.manager, s.manager.fleet
	for {
		for failures := 0; !s.joined; {
			var err error
			s.joined, err = f.join(ctx, &s.watch)
			if errors.Is(err, ErrInstanceTaken) {
				return err
			}
			if err != nil && failures == 0 && ctx.Err() == nil {
				m.config.Logger.Warn("instance cannot join the others yet", "instance", f.name, "error", err)
			}
			if err != nil {
				failures++
			}
			if !s.joined && !wait(ctx, f.duration/6) {
				return nil
			}
		}
		m.config.Logger.Info("instance takes its share of the channels", "instance", f.name)
		f.look()
		if err := f.hold(ctx); err == nil {
			return nil
		}
		m.config.Logger.Warn("the others have given this instance up, its channels stop", "instance", f.name)
		f.rejoin()
		m.stopOwned(time.Now())
		s.joined, s.watch = false, watch{}
	}
}

// guard stops the channels in time when the lease is not renewed.
func (s *membership) guard(ctx context.Context) {
	m, f := s.manager, s.manager.fleet
	for ctx.Err() == nil {
		stop, cut := f.deadlines()
		if !stop.IsZero() && !f.isAdrift() {
			if f.awaitRenewal(ctx, time.Until(stop)) {
				continue
			}
			if again, _ := f.deadlines(); ctx.Err() != nil || again != stop {
				continue
			}
			s.lapse(ctx, cut)
		}
		if f.awaitRenewal(ctx, -1) {
			if f.setAdrift(false) {
				m.config.Logger.Info("the storage is back", "instance", f.name)
			}
			f.look()
		}
	}
}

// lapse does what has to be done about a lease that nobody knows to be valid.
// Where there are others they take the channels over, so they stop. Where
// there were none the channels go on: stopping them would only make the
// failure of the storage one of the channels as well.
func (s *membership) lapse(ctx context.Context, cutAt time.Time) {
	m, f := s.manager, s.manager.fleet
	if f.alone() {
		f.setAdrift(true)
		m.config.Logger.Warn("the storage cannot be reached, channels go on because no other instance is there", "instance", f.name)
		return
	}
	m.config.Logger.Error("the storage cannot be reached, channels stop because another instance takes them over", "instance", f.name)
	cut := f.suspend()
	m.stopOwned(cutAt)
	wait(ctx, time.Until(cutAt))
	cut()
}

// awaitRenewal waits until the lease is renewed; with a limit that is not
// negative it reports false after that.
func (l *lease) awaitRenewal(ctx context.Context, limit time.Duration) bool {
	var over <-chan time.Time
	if limit >= 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-l.renewed:
		return true
	case <-over:
	case <-ctx.Done():
	}
	return false
}

// stopOwned stops all channels that run by the lease, until the deadline.
func (m *Manager) stopOwned(deadline time.Time) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	var stops sync.WaitGroup
	for _, e := range m.all() {
		if e.channel == nil || e.settings().Distributed {
			continue
		}
		stops.Go(func() {
			if err := e.channel.Stop(ctx); err != nil {
				m.config.Logger.Warn("channel stopped, not everything was finished", "channel", e.id, "error", err)
			}
		})
	}
	stops.Wait()
}
