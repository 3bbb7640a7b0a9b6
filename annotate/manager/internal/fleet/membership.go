package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// Channels are the channels that run by the lease.
type Channels interface {
	// StopLeased stops all of them, until the deadline.
	StopLeased(deadline time.Time)
}

// Membership is the part of an instance in its fleet, from joining to
// resigning. Create one with [Fleet.Enter].
type Membership struct {
	fleet    *Fleet
	channels Channels
	watch    watch
	joined   bool
	guards   sync.WaitGroup // of Hold; Resign waits for it
}

// resignTimeout is how long releasing the lease may take. Without it the others
// wait until it has run out.
const resignTimeout = 5 * time.Second

// Enter joins the others, unless there is a lease of this name that must be watched
// first, or the storage does not answer in time: [Membership.Hold] tries again.
func (f *Fleet) Enter(ctx context.Context, channels Channels) (*Membership, error) {
	s := &Membership{fleet: f, channels: channels}
	var err error
	s.joined, err = f.join(ctx, &s.watch)
	late := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, storage.ErrUnavailable)
	if late && ctx.Err() == nil {
		f.log.Warn("instance cannot join the others yet", "instance", f.name, "error", err)
		err = nil
	}
	return s, err
}

// Hold keeps the lease until ctx ends, and returns nil then. It returns
// [ErrInstanceTaken] when another process has the name.
func (s *Membership) Hold(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	s.guards.Go(func() { s.guard(ctx) })
	return s.keepLease(ctx)
}

// Resign releases the lease, so that others take the channels over at once. The
// channels are stopped.
func (s *Membership) Resign() {
	s.guards.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), resignTimeout)
	defer cancel()
	if err := s.fleet.resign(ctx); err != nil {
		s.fleet.log.Warn("lease not released, channels are taken over when it has expired", "error", err)
	}
}

// keepLease joins the others and renews the lease, and joins anew when it was
// lost. It returns nil when ctx ends.
func (s *Membership) keepLease(ctx context.Context) error {
	f := s.fleet
	for {
		for failures := 0; !s.joined; {
			var err error
			s.joined, err = f.join(ctx, &s.watch)
			if errors.Is(err, ErrInstanceTaken) {
				return err
			}
			if err != nil && failures == 0 && ctx.Err() == nil {
				f.log.Warn("instance cannot join the others yet", "instance", f.name, "error", err)
			}
			if err != nil {
				failures++
			}
			if !s.joined && !Sleep(ctx, f.duration/6) {
				return nil
			}
		}
		f.log.Info("instance takes its share of the channels", "instance", f.name)
		f.Look()
		if err := f.hold(ctx); err == nil {
			return nil
		}
		f.log.Warn("the lease was lost to another instance, channels stop", "instance", f.name)
		f.rejoin()
		s.channels.StopLeased(time.Now())
		s.joined, s.watch = false, watch{}
	}
}

// guard has the channels stopped in time when the lease is not renewed.
func (s *Membership) guard(ctx context.Context) {
	f := s.fleet
	for ctx.Err() == nil {
		stop, cut := f.deadlines()
		if !stop.IsZero() && !f.isAdrift() {
			if f.renewedBy(ctx, stop) {
				continue
			}
			if again, _ := f.deadlines(); ctx.Err() != nil || again != stop {
				continue
			}
			s.lapse(cut)
		}
		if f.awaitRenewal(ctx) {
			if f.setAdrift(false) {
				f.log.Info("the storage can be reached again", "instance", f.name)
			}
			f.Look()
		}
	}
}

// lapse handles a lease that may have run out. Other instances take the channels
// over, so the channels stop. Where there were no others the channels continue:
// stopping them would only make the failure of the storage one of the channels
// as well.
func (s *Membership) lapse(cutAt time.Time) {
	f := s.fleet
	if f.alone() {
		f.setAdrift(true)
		f.log.Warn("the storage cannot be reached, channels continue because there are no other instances", "instance", f.name)
		return
	}
	f.log.Error("the storage cannot be reached, channels stop because another instance takes them over", "instance", f.name)
	time.AfterFunc(time.Until(cutAt), f.suspend()) // however long stopping takes
	s.channels.StopLeased(cutAt)
}

// errNoPermit is the reason why channels of this instance must not act.
var errNoPermit = errors.New("annotate: another instance may run the channel, because the lease of this one has run out")

// Permit returns nil while the channels that run by the lease may act. It reads the clock, so it
// is right at once in a process that stood still, where nothing has ended the contexts of
// [Fleet.Rights] yet. After two thirds of a lease, when they stop, channels still finish what they
// have. Without other instances they continue.
func (f *Fleet) Permit() error {
	f.lease.mu.Lock()
	over, age := f.limit.Err() != nil, f.ageLocked()
	f.lease.mu.Unlock()
	if !over && (age < f.cutAfter() || f.alone()) {
		return nil
	}
	return errNoPermit
}

// awaitRenewal waits until the lease is renewed. It reports false when ctx ends before.
func (l *lease) awaitRenewal(ctx context.Context) bool {
	select {
	case <-l.renewed:
		return true
	case <-ctx.Done():
		return false
	}
}

// renewedBy is awaitRenewal until the deadline, which may have passed.
func (l *lease) renewedBy(ctx context.Context, deadline time.Time) bool {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	return l.awaitRenewal(ctx)
}
