package admin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/internal/keep"
	"github.com/iotenablers/enablers/storage"
)

// ErrRecord means that what is stored is not a configuration: it is damaged, or was
// written by a later version.
var ErrRecord = errors.New("admin: stored configuration cannot be read")

const (
	headKey   = "config"  // the document that says which text is the configuration
	textKeys  = "config/" // the documents with the pieces of the texts
	pieceSize = 4 << 20   // bytes of text in a document; base64 and quotes stay below storage.MaxDataSize
	version   = 1
)

// head is the document that names the text of the configuration. It is replaced in
// one step, by compare and set; the texts are never changed.
type head struct {
	Version int    `json:"version"`
	Text    string `json:"text"` // a UUID of version 7
	Pieces  int    `json:"pieces"`
	Size    int    `json:"size"`
	SHA256  string `json:"sha256"`

	unknown keep.Members // of the text
}

func (h head) piece(i int) string { return fmt.Sprintf("%s%s/%05d", textKeys, h.Text, i) }

// record is the configuration as it is stored.
type record struct {
	docs  storage.Documents
	piece int // bytes of text in a document
}

// head reads which text is the configuration. Without one the revision is zero.
func (r *record) head(ctx context.Context) (head, storage.Revision, error) {
	doc, err := r.docs.Get(ctx, headKey)
	if errors.Is(err, storage.ErrNotFound) {
		return head{}, 0, nil
	}
	if err != nil {
		return head{}, 0, fmt.Errorf("read stored configuration: %w", err)
	}
	var h head
	if err := json.Unmarshal(doc.Data, &h); err != nil || h.Version != version {
		return head{}, 0, fmt.Errorf("read stored configuration: version %d: %w", h.Version, ErrRecord)
	}
	return h, doc.Revision, nil
}

// load reads the configuration and its revision. Both are zero if nothing is stored.
func (r *record) load(ctx context.Context) (entity.Config, head, storage.Revision, error) {
	for attempt := 0; ; attempt++ {
		h, revision, err := r.head(ctx)
		if err != nil || revision == 0 {
			return entity.Config{}, head{}, 0, err
		}
		config, unknown, err := r.text(ctx, h)
		// Its pieces go when another text takes its place.
		if errors.Is(err, storage.ErrNotFound) && attempt < 10 {
			continue
		}
		h.unknown = unknown
		return config, h, revision, err
	}
}

// text reads a text: the configuration, and the members that this version does not have.
func (r *record) text(ctx context.Context, h head) (config entity.Config, unknown keep.Members, err error) {
	var text bytes.Buffer
	for i := range h.Pieces {
		doc, err := r.docs.Get(ctx, h.piece(i))
		if err != nil {
			return entity.Config{}, unknown, fmt.Errorf("read stored configuration: %w", err)
		}
		var piece []byte
		if err := json.Unmarshal(doc.Data, &piece); err != nil {
			return entity.Config{}, unknown, fmt.Errorf("read stored configuration: %q: %w", doc.Key, ErrRecord)
		}
		if text.Len()+len(piece) > h.Size {
			return entity.Config{}, unknown, fmt.Errorf("read stored configuration: %q: longer than it should be: %w", doc.Key, ErrRecord)
		}
		text.Write(piece)
	}
	if sum := sha256.Sum256(text.Bytes()); hex.EncodeToString(sum[:]) != h.SHA256 {
		return entity.Config{}, unknown, fmt.Errorf("read stored configuration: %q: checksum differs: %w", h.Text, ErrRecord)
	}
	if unknown, err = keep.Unmarshal(text.Bytes(), &config); err != nil {
		return entity.Config{}, unknown, fmt.Errorf("read stored configuration: %q: %w: %w", h.Text, ErrRecord, err)
	}
	return config, unknown, nil
}

// save replaces the configuration that the head old names if it still has the
// revision prev, and returns the new ones. Another revision is storage.ErrConflict.
// After any other error it may have been replaced or not.
func (r *record) save(ctx context.Context, config entity.Config, old head, prev storage.Revision) (head, storage.Revision, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return head{}, 0, fmt.Errorf("store configuration: %w", err)
	}
	text, unknown, err := old.unknown.MarshalKept(config)
	if err != nil {
		return head{}, 0, fmt.Errorf("store configuration: %w", err)
	}
	sum := sha256.Sum256(text)
	h := head{Version: version, Text: id.String(), Size: len(text), SHA256: hex.EncodeToString(sum[:]), unknown: unknown}
	for ; len(text) > 0; h.Pieces++ {
		size := min(len(text), r.piece)
		data, err := json.Marshal(text[:size])
		if err == nil {
			_, err = r.docs.Create(ctx, h.piece(h.Pieces), data)
		}
		if err != nil {
			r.remove(ctx, h)
			return head{}, 0, fmt.Errorf("store configuration: %w", err)
		}
		text = text[size:]
	}
	revision, err := r.point(ctx, h, prev)
	switch {
	case errors.Is(err, storage.ErrConflict):
		r.remove(ctx, h)
		return head{}, 0, fmt.Errorf("store configuration: %w", err)
	case err != nil: // it may be the configuration now: its pieces stay
		return head{}, 0, fmt.Errorf("store configuration: %w", err)
	}
	r.remove(ctx, old)
	return h, revision, nil
}

// point replaces the configuration by a text. The revision prev is of before the first piece of the text
// was written: the sweeper counts on that.
func (r *record) point(ctx context.Context, h head, prev storage.Revision) (storage.Revision, error) {
	data, err := json.Marshal(h)
	if err != nil {
		return 0, err
	}
	if prev == 0 {
		revision, err := r.docs.Create(ctx, headKey, data)
		if errors.Is(err, storage.ErrExists) {
			err = fmt.Errorf("%w: %w", storage.ErrConflict, err)
		}
		return revision, err
	}
	revision, err := r.docs.Update(ctx, headKey, prev, data)
	if errors.Is(err, storage.ErrNotFound) {
		err = fmt.Errorf("%w: %w", storage.ErrConflict, err)
	}
	return revision, err
}

// remove deletes the pieces of a text that is not the configuration. What it cannot
// delete is swept later.
func (r *record) remove(ctx context.Context, h head) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for i := range h.Pieces {
		if doc, err := r.docs.Get(ctx, h.piece(i)); err == nil {
			_ = r.docs.Delete(ctx, doc.Key, doc.Revision) // swept later
		}
	}
}
