package desired

import (
	"context"
	"net/netip"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node/internal/fault"
)

// Edit is a change of settings, which the node checks, applies, stores and acknowledges.
type Edit struct {
	// Cuts says that the edit cuts a client off. It is stored even if the plane refuses it, if
	// the plane does not do what is configured anyway.
	Cuts bool

	// prepare does what takes long, or needs no turn, with the settings of that moment.
	prepare func(ctx context.Context, s *Settings, at *Environment) error
	// apply changes a copy of the settings.
	apply func(ctx context.Context, s *Settings, at *Environment) (Outcome, error)
}

// Outcome is what an edit changes.
type Outcome struct {
	// Key is that of the one document that is changed. Empty means that the settings stay
	// as they are.
	Key string
	// Event is what is published and logged. Nil means nothing.
	Event *Event
}

// Event is a change in words: its type in the stream of events, what it is about, and what
// was done.
type Event struct{ Type, Link, Peer, Reason string }

// Environment is what edits need to know of the instance, besides its settings.
type Environment struct {
	// Addresses are those of a server on the bonded network.
	Addresses []netip.Prefix
	// MaxClients is how many clients a server has at most.
	MaxClients int
	// Interfaces lists the interfaces that may carry a link. Nil means that they are not known.
	Interfaces func(ctx context.Context) ([]multilink.LinkInfo, error)
	// Resolve finds the addresses of a host name.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

// Prepare does what precedes the turn of the edit. s are the settings of that moment.
func (e Edit) Prepare(ctx context.Context, s *Settings, at *Environment) error {
	if e.prepare == nil {
		return nil
	}
	return e.prepare(ctx, s, at)
}

// Apply changes s, which is a copy of the settings.
func (e Edit) Apply(ctx context.Context, s *Settings, at *Environment) (Outcome, error) {
	return e.apply(ctx, s, at)
}

// only returns the preparation of an edit that instances of one role can apply.
func only(role Role) func(context.Context, *Settings, *Environment) error {
	return func(_ context.Context, s *Settings, _ *Environment) error { return s.Only(role) }
}

// Only returns an error for an operation of the other role.
func (s *Settings) Only(role Role) error {
	if s.Head.Role != role {
		return fault.Clash("", "this instance is a %s: only a %s does that", s.Head.Role, role)
	}
	return nil
}
