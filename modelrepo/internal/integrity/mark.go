package integrity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/iotenablers/enablers/modelrepo/internal/cleanup"
	"github.com/iotenablers/enablers/storage"
)

// The first parts of keys. They are a stored format.
const (
	blobPrefix = "blob/"
	markPrefix = "damaged/"
)

// maxReason is how many bytes of a reason are stored.
const maxReason = 500

// Mark is damaged content. It is a stored format: the document damaged/<id> is about
// blob/<id>; members that this version does not have are not kept.
type Mark struct {
	SHA256 string    `json:"sha256"`
	Size   int64     `json:"size"`
	Found  time.Time `json:"found"`
	// Reason is for the operator.
	Reason string `json:"reason"`

	// Blob is the key of the blob.
	Blob     string `json:"-"`
	revision storage.Revision
}

func markKey(blob string) string { return markPrefix + strings.TrimPrefix(blob, blobPrefix) }

// Mark records that content is damaged. What cannot be stored is known to this process alone.
func (c *Checker) Mark(ctx context.Context, content Content, reason error) {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	c.mu.Lock()
	known := c.damaged[content.Blob]
	delete(c.good, content.Blob)
	c.mu.Unlock()
	if known {
		return
	}
	// It is known only when the document is there: IsDamaged takes an absent one for cleared.
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.damaged[content.Blob] = true
	}()
	c.log.Error("stored content is damaged: upload the same bytes again, or restore a backup",
		"blob", content.Blob, "sha256", content.SHA256, "error", reason)
	data, _ := json.Marshal(Mark{ // strings and numbers always have a form
		SHA256: content.SHA256, Size: content.Size, Found: time.Now().UTC(), Reason: fmt.Sprintf("%.*s", maxReason, reason.Error()),
	})
	_, err := c.docs.Create(ctx, markKey(content.Blob), data)
	if err != nil && !errors.Is(err, storage.ErrExists) {
		c.log.Warn("record damaged content", "blob", content.Blob, "error", err)
	}
}

// Clear records that a blob is not damaged any more, or that nothing needs it.
func (c *Checker) Clear(ctx context.Context, blob string) error {
	doc, err := c.docs.Get(ctx, markKey(blob))
	if err == nil {
		err = c.docs.Delete(ctx, doc.Key, doc.Revision)
	}
	if err != nil && !storage.Overtaken(err) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.damaged, blob)
	return nil
}

// Restored records that a blob has its digest, whatever was found before.
func (c *Checker) Restored(ctx context.Context, blob string) error {
	if !c.IsDamaged(ctx, blob) {
		return nil
	}
	return c.Clear(ctx, blob)
}

// IsDamaged reports whether a blob is known to be damaged. Another process may have cleared
// the mark.
func (c *Checker) IsDamaged(ctx context.Context, blob string) bool {
	c.mu.Lock()
	known := c.damaged[blob]
	c.mu.Unlock()
	if !known {
		return false
	}
	if _, err := c.docs.Get(ctx, markKey(blob)); !errors.Is(err, storage.ErrNotFound) {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.damaged, blob)
	return false
}

// Marks returns what is known to be damaged, and makes it known to this process.
func (c *Checker) Marks(ctx context.Context) ([]Mark, error) {
	c.mu.Lock()
	before := maps.Clone(c.damaged)
	c.mu.Unlock()
	var marks []Mark
	for doc, err := range storage.All(ctx, c.docs, markPrefix) {
		if err != nil {
			return nil, err
		}
		m := Mark{Blob: blobPrefix + strings.TrimPrefix(doc.Key, markPrefix), revision: doc.Revision}
		if err := json.Unmarshal(doc.Data, &m); err != nil {
			return nil, fmt.Errorf("read document %q: %w", doc.Key, err)
		}
		marks = append(marks, m)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.damaged, func(blob string, _ bool) bool { return before[blob] }) // others were marked meanwhile
	for _, m := range marks {
		c.damaged[m.Blob] = true
	}
	return marks, nil
}

// Damaged returns how many contents are known to be damaged.
func (c *Checker) Damaged() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.damaged)
}

// Prune clears the marks whose blobs nothing refers to. The marks were read before the
// references, and are by blob.
func (c *Checker) Prune(ctx context.Context, marks map[string]Mark) error {
	for blob, m := range marks {
		if err := c.docs.Delete(ctx, markKey(blob), m.revision); err != nil && !storage.Overtaken(err) {
			return err
		}
		c.mu.Lock()
		delete(c.damaged, blob)
		c.mu.Unlock()
	}
	return nil
}
