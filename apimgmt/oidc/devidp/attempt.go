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
	// unknownNames is the number of documents for names that are not a user's.
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
	key := attemptPrefix + name
	if !known {
		key = fmt.Sprintf("%sunknown/%d", attemptPrefix, maphash.String(p.seed, name)%unknownNames)
	}
	doc, err := p.config.Documents.Get(ctx, key)
	if errors.Is(err, storage.ErrNotFound) {
		return attempts{key: key}, nil
	}
	if err != nil {
		return attempts{key: key}, err
	}
	return decodeAttempts(doc)
}

func decodeAttempts(doc storage.Document) (attempts, error) {
	a := attempts{key: doc.Key, revision: doc.Revision}
	if doc.Revision == 0 {
		return a, nil
	}
	if err := json.Unmarshal(doc.Data, &a); err != nil {
		return a, fmt.Errorf("read %q: %w", a.key, err)
	}
	return a, nil
}

// failAttempt stores one more wrong password.
func (p *Provider) failAttempt(ctx context.Context, key string) error {
	_, err := storage.Change(ctx, p.config.Documents, key, func(found storage.Document) ([]byte, error) {
		a, err := decodeAttempts(found)
		if err != nil {
			return nil, err
		}
		a.Failures++
		a.Locked = lockedUntil(a.Failures, userFailures, time.Now(), a.Locked)
		data, err := json.Marshal(a)
		if err != nil {
			return nil, fmt.Errorf("write %q: %w", key, err)
		}
		return data, nil
	})
	return err
}

// forgetAttempts is for a right password.
func (p *Provider) forgetAttempts(ctx context.Context, a attempts) error {
	if a.revision == 0 {
		return nil
	}
	err := storage.Remove(ctx, p.config.Documents, a.key, nil)
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return err
}
