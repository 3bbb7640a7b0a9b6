package manager

import (
	"context"
	"errors"
	"time"

	"github.com/iotenablers/enablers/annotate/manager/internal/fleet"
	"github.com/iotenablers/enablers/storage"
)

// standing is which instance runs a channel, as far as this one has seen.
type standing uint8

const (
	mine standing = iota // this instance, or every one
	free                 // none
	theirs
)

// possession is the state of the lease on a channel, as an entry has it. The
// entry's mutex protects it.
type possession struct {
	lease    fleet.ChannelLease
	revision storage.Revision // zero: there is no lease
	alive    bool             // its session lives
	stamp    uint64           // the look at the storage during which it was written here
	freed    time.Time        // since when no instance has it
	adopted  bool             // taken beyond this instance's share
	yield    bool             // to be given to another
	reported time.Time        // when the report was last written
}

// sinceFreed returns for how long no instance has had the channel.
func (p possession) sinceFreed() time.Duration {
	if p.freed.IsZero() {
		return 0
	}
	return time.Since(p.freed)
}

// standing returns which instance runs the channel.
func (e *entry) standing() standing {
	if e.fleet == nil {
		return mine
	}
	session := e.fleet.Session()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.standingLocked(session)
}

// standingLocked is standing for the session of this instance, with the mutex
// held.
func (e *entry) standingLocked(session string) standing {
	p := &e.possession
	switch {
	case e.fleet == nil || e.config.Distributed:
		return mine
	case p.revision == 0:
		return free
	case session != "" && p.lease.Session == session:
		return mine
	case p.alive:
		return theirs
	}
	return free
}

// noteLease records a lease that was written by this instance.
func (e *entry) noteLease(l fleet.ChannelLease, revision storage.Revision) {
	stamp := e.fleet.Stamp()
	e.mu.Lock()
	defer e.mu.Unlock()
	p := &e.possession
	p.lease = l
	p.revision = revision
	p.alive = revision != 0
	p.stamp = stamp
	p.freed = time.Time{}
	p.yield, p.adopted = p.yield && p.alive, p.adopted && p.alive
}

// acquireLease takes the lease on a channel that no instance runs. It reports
// whether this instance is the one that runs it. The entry's turn need not be
// held: the storage decides.
func acquireLease(ctx context.Context, e *entry) (bool, error) {
	switch e.standing() {
	case mine:
		return true, nil
	case theirs:
		return false, nil
	}
	f := e.fleet
	if !f.Fresh() || f.IsRestoring() {
		return false, nil
	}
	e.mu.Lock()
	prev := e.possession.revision
	e.mu.Unlock()
	l := f.NewChannelLease()
	revision, err := f.WriteChannelLease(ctx, e.id, prev, l)
	switch {
	case err == nil:
		e.noteLease(l, revision)
		return true, nil
	case storage.Overtaken(err):
		f.Look() // another was faster
		return false, nil
	}
	return false, err
}

// releaseLease releases a lease of this instance. The channel is stopped.
func releaseLease(ctx context.Context, e *entry) error {
	if e.fleet == nil || e.settings().Distributed || e.standing() != mine {
		return nil
	}
	e.mu.Lock()
	revision := e.possession.revision
	e.mu.Unlock()
	err := e.fleet.DeleteChannelLease(ctx, e.id, revision)
	if err == nil || errors.Is(err, storage.ErrNotFound) {
		e.noteLease(fleet.ChannelLease{}, 0)
		return nil
	}
	e.fleet.Look()
	return err
}

// reportStatus writes what other instances show about a channel that this one
// runs. A text that keeps changing is written every 30 seconds at most.
func reportStatus(ctx context.Context, e *entry) error {
	const textEvery = 30 * time.Second
	if e.settings().Distributed || e.standing() != mine {
		return nil
	}
	s := e.view().Status
	now := fleet.Report{Stopped: s.Stopped, Retrying: s.Retrying, Error: s.Error}
	e.mu.Lock()
	l := e.possession.lease
	revision := e.possession.revision
	reported := e.possession.reported
	e.mu.Unlock()
	text := now
	text.Error = l.Error
	onlyText := text == l.Report && now.Error != "" && l.Error != ""
	if now == l.Report || (onlyText && time.Since(reported) < textEvery) {
		return nil
	}
	l.Report = now
	revision, err := e.fleet.WriteChannelLease(ctx, e.id, revision, l)
	if err != nil {
		e.fleet.Look()
		return err
	}
	e.noteLease(l, revision)
	e.mu.Lock()
	e.possession.reported = time.Now()
	e.mu.Unlock()
	return nil
}
