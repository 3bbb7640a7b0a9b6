package multilink

import (
	"errors"

	"github.com/iotenablers/enablers/multilink/internal/fault"
)

// Errors of links, tunnels and hosts. What is returned wraps one of them with
// the verb and the name of the object.
var (
	// ErrUnknownLink: no interface, or no managed link, has that name.
	ErrUnknownLink = fault.ErrUnknownLink
	// ErrUnknownPeer: no peer has that public key.
	ErrUnknownPeer = errors.New("multilink: unknown peer")
	// ErrDuplicate: the name, key, port or address is taken already.
	ErrDuplicate = fault.ErrDuplicate
	// ErrInvalid: a value is outside of what its field allows.
	ErrInvalid = fault.ErrInvalid
	// ErrDenied: the process lacks a right, or its settings forbid the operation.
	ErrDenied = errors.New("multilink: denied")
	// ErrUnsupported: this host or driver cannot do that.
	ErrUnsupported = errors.New("multilink: not supported")
	// ErrAddressInUse: another socket has the address or port.
	ErrAddressInUse = errors.New("multilink: address in use")
	// ErrLinkDown: the link cannot carry anything now. It may later.
	ErrLinkDown = fault.ErrLinkDown
	// ErrClosed: the object was closed.
	ErrClosed = errors.New("multilink: closed")
)
