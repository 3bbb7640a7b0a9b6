package node

import (
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/storage"
)

// ErrData reports that the stored configuration cannot be read: it is damaged, of another role or
// of a later version.
var ErrData = errors.New("node: stored configuration is unusable")

// errUnchanged reports that an edit changes nothing.
var errUnchanged = errors.New("node: nothing changes")

// faultKind is why a request cannot be met.
type faultKind int

const (
	malformed   faultKind = iota // the request is invalid
	unknown                      // its object does not exist
	conflict                     // it contradicts the configuration
	denied                       // a right is missing
	unsupported                  // this host cannot do that
	unavailable                  // not at the moment
	full                         // the storage has no space
	internal                     // a fault of this program
)

// fault is why a request cannot be met. Detail is for the client, err for the log.
type fault struct {
	kind   faultKind
	field  string // of the request; empty if it is about no single one
	detail string
	err    error
}

func (f *fault) Error() string {
	text := f.detail
	if f.field != "" {
		text = f.field + ": " + text
	}
	if f.err != nil && f.detail == "" {
		text += f.err.Error()
	}
	return text
}

func (f *fault) Unwrap() error { return f.err }

func wrong(field, format string, args ...any) error {
	return &fault{kind: malformed, field: field, detail: fmt.Sprintf(format, args...)}
}

func absent(field, format string, args ...any) error {
	return &fault{kind: unknown, field: field, detail: fmt.Sprintf(format, args...)}
}

func clash(field, format string, args ...any) error {
	return &fault{kind: conflict, field: field, detail: fmt.Sprintf(format, args...)}
}

func busy(format string, args ...any) error {
	return &fault{kind: unavailable, detail: fmt.Sprintf(format, args...)}
}

// refusal returns the fault for an error of the plane or of the documents.
func refusal(err error) *fault {
	var known *fault
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, multilink.ErrDenied):
		return &fault{kind: denied, detail: err.Error(), err: err}
	case errors.Is(err, multilink.ErrUnknownLink):
		return &fault{kind: malformed, field: "interface", detail: "unknown interface: " + err.Error(), err: err}
	case errors.Is(err, multilink.ErrUnknownPeer):
		return &fault{kind: unknown, field: "public_key", detail: err.Error(), err: err}
	case errors.Is(err, multilink.ErrDuplicate), errors.Is(err, multilink.ErrAddressInUse):
		return &fault{kind: conflict, detail: err.Error(), err: err}
	case errors.Is(err, multilink.ErrInvalid):
		return &fault{kind: malformed, detail: err.Error(), err: err}
	case errors.Is(err, multilink.ErrUnsupported):
		return &fault{kind: unsupported, detail: err.Error(), err: err}
	case errors.Is(err, multilink.ErrClosed):
		return &fault{kind: unavailable, detail: "the instance is ending", err: err}
	case errors.Is(err, multilink.ErrLinkDown):
		return &fault{kind: unavailable, detail: err.Error(), err: err}
	case errors.Is(err, storage.ErrFull):
		return &fault{kind: full, detail: "the storage is full: free space where the configuration is stored, and try again", err: err}
	case errors.Is(err, storage.ErrUnavailable):
		return &fault{kind: unavailable, detail: "the configuration cannot be stored at the moment", err: err}
	}
	return &fault{kind: internal, err: err}
}
