package host

import (
	"fmt"
	"io"
	"net"
)

// Listener is a listener of a server, which [Flags.Serve] opens.
type Listener struct {
	// Listener is nil until the server opens it, and if there is none.
	net.Listener
	// Flag is the flag that has Address, for errors.
	Flag, Address string
	// Name says in the line of the address what is there. Empty says nothing.
	Name string
	// Open opens it in place of a listener at Address. It may return nil, for none.
	Open func() (net.Listener, error)
	// Absent says that there is none.
	Absent bool
	// Unguarded says that the door does not decide on its callers.
	Unguarded bool
	// Silent says that nothing answers while the servers of the stores do not.
	Silent bool
}

// open opens the listener.
func (l *Listener) open(f *Flags) (err error) {
	switch {
	case l.Absent:
	case l.Open != nil:
		l.Listener, err = l.Open()
	default:
		l.Listener, err = f.Bound.Listen(l.Flag, l.Address)
	}
	return err
}

// Print prints the line of the address at a URL.
func (l *Listener) Print(w io.Writer, url string) {
	if l.Name != "" {
		url += " (" + l.Name + ")"
	}
	fmt.Fprintf(w, "listening on %s\n", url)
}
