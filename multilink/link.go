package multilink

// Link is a network interface of a host that can carry a tunnel.
//
// It is safe for use by several goroutines.
type Link interface {
	// Info is the current state of the interface.
	Info() LinkInfo
	// Events reports changes from the call on, beginning with the state at the
	// call. A slow reader misses states in between, never the last. The channel is
	// closed when the link is.
	Events() <-chan LinkInfo
	// Close ends the watching. The interface stays as it is.
	Close() error
}

// LinkInfo describes a network interface.
type LinkInfo struct {
	Interface string
	// Up is true while the interface is enabled and has a carrier.
	Up bool
	// MTU is the largest packet of layer 3, in bytes.
	MTU int
	// Addresses of the interface, in CIDR notation.
	Addresses []string
	// Gone is true once the interface no longer exists.
	Gone bool
}
