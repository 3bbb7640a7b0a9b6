//go:build linux

package vmtest

import (
	"context"
	"net"
	"net/http"
	"syscall"
	"time"
)

// requestLimit is how long a request to the guest may take.
const requestLimit = 30 * time.Second

// HTTP returns a client whose requests are made from within the namespace.
func (n *Namespace) HTTP() *http.Client {
	return &http.Client{
		Timeout: requestLimit,
		Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
				return n.dial(address)
			},
		},
	}
}

// dial starts a process that joins its input and output to a connection.
func (n *Namespace) dial(address string) (net.Conn, error) {
	here, there := net.Pipe()
	p, err := n.start(Program{Argv: []string{"/init", "dial", address}, Stdout: there})
	if err != nil {
		return nil, err
	}
	go func() {
		piece := make([]byte, 16<<10)
		for {
			read, err := there.Read(piece)
			if read > 0 {
				err = p.Input(piece[:read])
			}
			if err != nil {
				p.Signal(syscall.SIGKILL) // the connection was closed
				return
			}
		}
	}()
	go func() {
		<-p.Ended()
		_ = there.Close()
	}()
	return here, nil
}
