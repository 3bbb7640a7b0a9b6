package wg

import (
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/multilink"
)

// attempts is how many free ports are tried that IPv6 may find taken.
const attempts = 100

// listenPair opens a socket for each version of IP with the same port, by open.
// A host without one of the versions has the other only.
func listenPair(port uint16, open func(network string, port uint16) (socket, uint16, error)) (sockets, error) {
	fail := func(err error) (sockets, error) {
		if addressInUse(err) {
			return sockets{}, fmt.Errorf("port %d: %w: %w", port, multilink.ErrAddressInUse, err)
		}
		return sockets{}, err
	}
	for try := 0; ; try++ {
		s := sockets{port: port}
		v4, got, err4 := open("udp4", port)
		switch {
		case err4 == nil:
			s.v4, s.port = v4, got
		case !noFamily(err4):
			return fail(err4)
		}
		v6, got, err6 := open("udp6", s.port)
		switch {
		case err6 == nil:
			s.v6, s.port = v6, got
			return s, nil
		case noFamily(err6) && s.v4 != nil:
			return s, nil
		}
		_ = s.close() // it has carried nothing
		if port == 0 && addressInUse(err6) && try < attempts {
			continue
		}
		return fail(errors.Join(err4, err6))
	}
}
