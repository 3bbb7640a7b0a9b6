package devidp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/iotenablers/enablers/storage"
)

const (
	attemptPrefix = "attempts/"
	// unknownNames is how many documents stand for names that are no user's.
	unknownNames = 64
)

// attempts are the wrong passwords for one user in a row, at all instances.
type attempts struct {
	Failures int       `json:"failures"`
	Locked   time.Time `json:"locked"` // until then

	key      string
	revision storage.Revision // 0 if there is no document
}

// readAttempts returns the wrong passwords for a name. A name of no user takes the same
// accesses to the store, to one of a fixed number of documents, and what is there counts
// nothing: the guard of this instance alone slows it down.
func (p *Provider) readAttempts(ctx context.Context, name string, known bool) (attempts, error) {
	a := attempts{key: attemptPrefix + name}
	if !known {
		a.key = fmt.Sprintf("%sunknown/%d", attemptPrefix, maphash.String(p.seed, name)%unknownNames)
	}
	doc, err := p.config.Documents.Get(ctx, a.key)
	if errors.Is(err, storage.ErrNotFound) {
		return a, nil
	}
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(doc.Data, &a); err != nil {
		return a, fmt.Errorf("read %q: %w", a.key, err)
	}
	a.revision = doc.Revision
	return a, nil
}

// failAttempt stores one more wrong password.
func (p *Provider) failAttempt(ctx context.Context, a attempts, name string, known bool) error {
	for {
		a.Failures++
		a.Locked = lockedUntil(a.Failures, userFailures, time.Now(), a.Locked)
		data, err := json.Marshal(a)
		if err != nil {
			return fmt.Errorf("write %q: %w", a.key, err)
		}
		if a.revision == 0 {
			_, err = p.config.Documents.Create(ctx, a.key, data)
		} else {
			_, err = p.config.Documents.Update(ctx, a.key, a.revision, data)
		}
		if err == nil || !lostRace(err) {
			return err
		}
		if a, err = p.readAttempts(ctx, name, known); err != nil {
			return err
		}
	}
}

// forgetAttempts is for a right password.
func (p *Provider) forgetAttempts(ctx context.Context, a attempts, name string) error {
	for a.revision != 0 {
		err := p.config.Documents.Delete(ctx, a.key, a.revision)
		if err == nil || !lostRace(err) {
			return err
		}
		if a, err = p.readAttempts(ctx, name, true); err != nil {
			return err
		}
	}
	return nil
}

// lostRace reports whether a write failed because another instance was quicker.
func lostRace(err error) bool {
	return errors.Is(err, storage.ErrExists) || errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound)
}
