package annotate

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// claim is the document that says which instance runs a channel. It is valid
// as long as there is a lease of its session. It is made after the document of
// the channel, and after the lease; who reads claims first, leases second and
// channels third therefore knows that what he then misses is gone for good.
type claim struct {
	Instance string `json:"instance"`
	Session  string `json:"session"`
	report
}

// report is what the instance that runs a channel says about it. It is
// written when it changes, and not otherwise.
type report struct {
	Stopped  bool   `json:"stopped,omitempty"`
	Retrying bool   `json:"retrying,omitempty"`
	Error    string `json:"error,omitempty"`
}

func reportOf(s Status) report { return report{s.IsStopped, s.Retrying, s.Error} }

// standing says who runs a channel, as far as this instance knows.
type standing uint8

const (
	mine standing = iota // this instance, or every one
	free                 // nobody
	theirs
)

// possession is what an entry knows about the claim on its channel. The
// entry's mutex protects it.
type possession struct {
	claim    claim
	revision storage.Revision // zero: there is no claim
	alive    bool             // its session lives
	stamp    uint64           // the look at the storage during which it was written here
	freed    time.Time        // since when nobody has it
	adopted  bool             // taken beyond this instance's share
	yield    bool             // to be given to another
	reported time.Time        // when the report was last written
}

// standing returns who runs the channel.
func (e *entry) standing() standing {
	if e.fleet == nil {
		return mine
	}
	session := e.fleet.session()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.standingIn(session)
}

// standingIn is standing for the session of this instance. The mutex is held.
func (e *entry) standingIn(session string) standing {
	p := &e.possession
	switch {
	case e.fleet == nil || e.config.Settings.Distributed:
		return mine
	case p.revision == 0:
		return free
	case session != "" && p.claim.Session == session:
		return mine
	case p.alive:
		return theirs
	}
	return free
}

// noteClaim records a claim that was written by this instance.
func (e *entry) noteClaim(c claim, revision storage.Revision) {
	stamp := e.fleet.stamp()
	e.mu.Lock()
	defer e.mu.Unlock()
	p := &e.possession
	p.claim, p.revision, p.alive, p.stamp, p.freed = c, revision, revision != 0, stamp, time.Time{}
	p.yield, p.adopted = p.yield && p.alive, p.adopted && p.alive
}

// acquire claims a channel that nobody runs. It reports whether this instance
// is the one that runs it. The entry's turn need not be held: the storage
// decides.
func (m *Manager) acquire(ctx context.Context, e *entry) (bool, error) {
	switch e.standing() {
	case mine:
		return true, nil
	case theirs:
		return false, nil
	}
	if !m.fleet.fresh() || m.fleet.isRestoring() {
		return false, nil
	}
	e.mu.Lock()
	prev := e.possession.revision
	e.mu.Unlock()
	c := claim{Instance: m.fleet.name, Session: m.fleet.session(), report: report{Stopped: true}}
	revision, err := m.writeClaim(ctx, e.id, prev, c)
	switch {
	case err == nil:
		e.noteClaim(c, revision)
		return true, nil
	case errors.Is(err, storage.ErrExists), errors.Is(err, storage.ErrConflict), errors.Is(err, storage.ErrNotFound):
		m.fleet.look() // another was faster
		return false, nil
	}
	return false, err
}

func (m *Manager) writeClaim(ctx context.Context, id string, prev storage.Revision, c claim) (storage.Revision, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return 0, err
	}
	if prev == 0 {
		return m.config.Documents.Create(ctx, claimPrefix+id, data)
	}
	return m.config.Documents.Update(ctx, claimPrefix+id, prev, data)
}

// release gives a claim of this instance up. The channel is stopped.
func (m *Manager) release(ctx context.Context, e *entry) error {
	if e.fleet == nil || e.settings().Distributed || e.standing() != mine {
		return nil
	}
	e.mu.Lock()
	revision := e.possession.revision
	e.mu.Unlock()
	err := m.config.Documents.Delete(ctx, claimPrefix+e.id, revision)
	if err == nil || errors.Is(err, storage.ErrNotFound) {
		e.noteClaim(claim{}, 0)
		return nil
	}
	m.fleet.look()
	return err
}

// report writes what other instances are to show about a channel that this one
// runs. A text that keeps changing is not followed word by word.
func (m *Manager) report(ctx context.Context, e *entry) error {
	const wordsEvery = 30 * time.Second
	if e.settings().Distributed || e.standing() != mine {
		return nil
	}
	now := reportOf(e.view().Status)
	e.mu.Lock()
	c, revision, reported := e.possession.claim, e.possession.revision, e.possession.reported
	e.mu.Unlock()
	words := now
	words.Error = c.Error
	onlyWords := words == c.report && now.Error != "" && c.Error != ""
	if now == c.report || onlyWords && time.Since(reported) < wordsEvery {
		return nil
	}
	c.report = now
	revision, err := m.writeClaim(ctx, e.id, revision, c)
	if err != nil {
		m.fleet.look()
		return err
	}
	e.noteClaim(c, revision)
	e.mu.Lock()
	e.possession.reported = time.Now()
	e.mu.Unlock()
	return nil
}
