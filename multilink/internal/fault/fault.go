// Package fault holds the errors that the packages below multilink share with
// it. Package multilink publishes them under the same names: a caller compares
// with fault.ErrInvalid and needs no other package.
package fault

import "errors"

// The errors. What is returned wraps one of them with the verb and the name of
// the object.
var (
	// ErrUnknownLink: no interface, or no managed link, has that name.
	ErrUnknownLink = errors.New("multilink: unknown link")
	// ErrDuplicate: the name, key, port or address is taken already.
	ErrDuplicate = errors.New("multilink: duplicate")
	// ErrInvalid: a value is outside of what its field allows.
	ErrInvalid = errors.New("multilink: invalid")
	// ErrLinkDown: the link cannot carry anything now. It may later.
	ErrLinkDown = errors.New("multilink: link down")
)
