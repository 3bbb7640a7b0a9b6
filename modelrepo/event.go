package modelrepo

import (
	"context"
	"errors"

	"github.com/iotenablers/enablers/modelrepo/internal/webhook"
	"github.com/iotenablers/enablers/storage"
)

// Change is something that an operation has changed, see [Config].
type Change struct {
	Action Action
	// Path is where it happened.
	Path Path
	// Format is that of the content, where the action is about content.
	Format string
}

// contentBody is the body of an event about content.
type contentBody struct {
	Format string `json:"format"`
	*File
	Overwrote bool `json:"overwrote,omitempty"`
}

// newEvent returns the event of an action on a namespace, a model or a version.
func newEvent(action Action, at Path) *webhook.Event {
	return &webhook.Event{Action: string(action), At: webhook.Place(at)}
}

// contentEvent returns the event of an action on content.
func contentEvent(action Action, at Path, body contentBody) *webhook.Event {
	return &webhook.Event{Action: string(action), At: webhook.Place(at), Format: body.Format, Body: body}
}

// outcome implements [webhook.Tree]: it finds out whether an operation happened.
type outcome struct{ tree *tree }

// Refused implements [webhook.Tree].
func (outcome) Refused(err error) bool {
	var known *Error
	return errors.As(err, &known) || errors.Is(err, errAbsent) ||
		errors.Is(err, storage.ErrExists) || errors.Is(err, ErrNotEmpty)
}

// Happened implements [webhook.Tree].
func (o outcome) Happened(ctx context.Context, e webhook.Event) (body any, happened bool, err error) {
	at := Path(e.At)
	n, err := o.tree.find(ctx, at, at.depth())
	absent := errors.Is(err, errAbsent)
	if err != nil && !absent {
		return nil, false, err
	}
	content := -1
	if !absent {
		content = n.entryAt(e.Format)
	}
	switch Action(e.Action).Info().effect {
	case nodePresent:
		return e.Body, !absent, nil
	case nodeAbsent:
		return e.Body, absent, nil
	case contentAbsent:
		return e.Body, content < 0, nil
	}
	if content < 0 || n.Formats[content].Uploaded.Before(e.Time) {
		return nil, false, nil
	}
	file := n.Formats[content].file()
	return contentBody{Format: e.Format, File: &file}, true, nil
}
