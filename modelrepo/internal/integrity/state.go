package integrity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// stateKey is the key of the document of the scrub. It is a stored format.
const stateKey = "scrub"

// State is how far a scrub has come. It is a stored format; members that this version does
// not have are not kept.
type State struct {
	// By is the process that runs the scrub; empty if none does.
	By string `json:"by,omitempty"`
	// Requested is set if a scrub was requested and has not begun.
	Requested bool `json:"requested,omitempty"`
	// Fast is set for a scrub that was requested, which does not pause.
	Fast bool `json:"fast,omitempty"`
	// Begun and Ended are when the last scrub began and ended. Ended is zero while it runs.
	Begun time.Time `json:"begun,omitzero"`
	Ended time.Time `json:"ended,omitzero"`
	// After is the key of the blob that was compared last.
	After string `json:"after,omitempty"`
	// Contents have been compared, with Bytes, and Damaged of them were damaged.
	Contents int64 `json:"contents,omitempty"`
	Bytes    int64 `json:"bytes,omitempty"`
	Damaged  int64 `json:"damaged,omitempty"`
}

// Running reports whether a scrub has begun and not ended. A process that crashed may have
// left it; another one goes on with it.
func (s State) Running() bool { return s.By != "" }

// State returns how far the scrub has come.
func (c *Checker) State(ctx context.Context) (State, error) {
	s, _, err := c.state(ctx)
	return s, err
}

func (c *Checker) state(ctx context.Context) (State, storage.Revision, error) {
	doc, err := c.docs.Get(ctx, stateKey)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return State{}, 0, err
	}
	s, err := decodeState(doc)
	return s, doc.Revision, err
}

// decodeState decodes the document, which is not there before the first scrub.
func decodeState(doc storage.Document) (s State, err error) {
	if doc.Revision == 0 {
		return s, nil
	}
	if err = json.Unmarshal(doc.Data, &s); err != nil {
		err = fmt.Errorf("read document %q: %w", doc.Key, err)
	}
	return s, err
}

func (s State) encode() []byte {
	data, _ := json.Marshal(s) // strings, numbers and times always have a form
	return data
}

// store writes the state at a revision; at revision 0 it must not exist. The error matches
// [storage.Overtaken] if another process has written it.
func (c *Checker) store(ctx context.Context, s State, at storage.Revision) (storage.Revision, error) {
	if at == 0 {
		return c.docs.Create(ctx, stateKey, s.encode())
	}
	return c.docs.Update(ctx, stateKey, at, s.encode())
}

// Request asks for a scrub of everything at once. One that was requested and runs already
// answers the request; a slow one is replaced. It returns the state.
func (c *Checker) Request(ctx context.Context) (State, error) {
	var s State
	_, err := storage.Change(ctx, c.docs, stateKey, func(doc storage.Document) (data []byte, err error) {
		if s, err = decodeState(doc); err != nil || s.Requested || (s.Running() && s.Fast) {
			return nil, err
		}
		s.Requested = true
		return s.encode(), nil
	})
	return s, err
}
