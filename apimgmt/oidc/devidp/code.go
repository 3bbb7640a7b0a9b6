package devidp

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/iotenablers/enablers/storage"
)

const (
	codeTTL  = time.Minute
	maxCodes = 10_000 // of one instance
	// removedCodes is the number of old codes that a login deletes: more than it creates.
	removedCodes = 4
	codePrefix   = "code/"
	// codeSweep is how often an instance looks for codes that another one has left.
	codeSweep = 10 * time.Minute
)

// code is what a browser brings to a client after a login. It is stored under the digest of its
// text, so that the client may show it to another instance.
type code struct {
	Request request   `json:"request"`
	Session string    `json:"session"`
	Ends    time.Time `json:"ends"`
	Grant   string    `json:"grant,omitempty"` // of the client that came with it, "" before
}

// codes keeps codes until their time is over, so that a second use of one can
// be detected. It is safe for concurrent use, also by several processes.
type codes struct {
	docs storage.Documents

	mu    sync.Mutex
	made  []madeCode // here, in the order of time
	swept time.Time
}

type madeCode struct {
	key  string
	ends time.Time
}

func codeKey(text string) string {
	digest := sha256.Sum256([]byte(text))
	return codePrefix + hex.EncodeToString(digest[:])
}

// add stores a new code, and returns its text.
func (c *codes) add(ctx context.Context, of code) (string, error) {
	now := time.Now()
	c.makeRoom(ctx, now)
	of.Ends = now.Add(codeTTL)
	data, err := json.Marshal(of)
	if err != nil {
		return "", fmt.Errorf("write code: %w", err)
	}
	text := rand.Text() + rand.Text()
	if _, err := c.docs.Create(ctx, codeKey(text), data); err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = append(c.made, madeCode{codeKey(text), of.Ends})
	return text, nil
}

// makeRoom deletes some codes of this instance whose time is over, or that are too many, and
// now and then what other instances have left. What cannot be deleted is swept later.
func (c *codes) makeRoom(ctx context.Context, now time.Time) {
	c.mu.Lock()
	n := 0
	for n < min(len(c.made), removedCodes) && (len(c.made)-n >= maxCodes || !now.Before(c.made[n].ends)) {
		n++
	}
	old := c.made[:n:n]
	c.made = c.made[n:]
	sweep := now.Sub(c.swept) >= codeSweep
	if sweep {
		c.swept = now
	}
	c.mu.Unlock()
	for _, one := range old {
		doc, err := c.docs.Get(ctx, one.key)
		if err == nil {
			err = c.remove(ctx, doc)
		}
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return
		}
	}
	if sweep {
		_ = c.sweep(ctx, now) // the next one tries again
	}
}

// sweep deletes all codes whose time is over.
func (c *codes) sweep(ctx context.Context, now time.Time) error {
	for doc, err := range storage.All(ctx, c.docs, codePrefix) {
		if err != nil {
			return err
		}
		var of code
		if json.Unmarshal(doc.Data, &of) == nil && now.Before(of.Ends) {
			continue
		}
		if err := c.remove(ctx, doc); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes a code, unless another instance has just used or deleted it.
func (c *codes) remove(ctx context.Context, doc storage.Document) error {
	err := c.docs.Delete(ctx, doc.Key, doc.Revision)
	if storage.Overtaken(err) {
		return nil
	}
	return err
}

// take returns the code, if its time is not over, and marks it as used by a
// grant. If it was used before, that grant is returned as well.
func (c *codes) take(ctx context.Context, text, grant string) (of code, before string, ok bool, err error) {
	_, err = storage.Change(ctx, c.docs, codeKey(text), func(found storage.Document) ([]byte, error) {
		of, before, ok = code{}, "", false
		if found.Revision == 0 {
			return nil, nil
		}
		if err := json.Unmarshal(found.Data, &of); err != nil {
			return nil, fmt.Errorf("read %q: %w", found.Key, err)
		}
		if ok = time.Now().Before(of.Ends); !ok || of.Grant != "" {
			before = of.Grant
			return nil, nil
		}
		of.Grant = grant
		data, err := json.Marshal(of)
		if err != nil {
			return nil, fmt.Errorf("write code: %w", err)
		}
		return data, nil
	})
	if err != nil || !ok {
		return code{}, "", false, err
	}
	return of, before, true, nil
}
