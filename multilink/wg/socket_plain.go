package wg

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.zx2c4.com/wireguard/conn"
)

// maxStuck is how long a call waits for a socket that takes nothing.
const maxStuck = 20 * time.Millisecond

// plainSocket moves one datagram with a call, by what every system has.
type plainSocket struct {
	conn    *net.UDPConn
	remotes *remotes
	last    *remote // whom the last datagram was from
}

var _ socket = (*plainSocket)(nil)

func (s *plainSocket) receive(bufs [][]byte, sizes []int, from []conn.Endpoint) (int, error) {
	for failures := 0; ; failures++ {
		n, sender, err := s.conn.ReadFromUDPAddrPort(bufs[0])
		if err == nil {
			if s.last == nil || s.last.to != sender {
				s.last = s.remotes.get(netip.AddrPortFrom(sender.Addr().Unmap(), sender.Port()))
			}
			sizes[0], from[0] = n, s.last
			return 1, nil
		}
		if errors.Is(err, net.ErrClosed) {
			return 0, net.ErrClosed
		}
		settle(failures)
	}
}

// settle keeps a receiver whose socket reports errors, such as what a router
// said of a datagram that was sent, from spinning.
func settle(failures int) {
	if failures > 16 {
		time.Sleep(10 * time.Millisecond)
	}
}

func (s *plainSocket) send(bufs [][]byte, to *remote) (stuck bool, err error) {
	if err := s.conn.SetWriteDeadline(time.Now().Add(maxStuck)); err != nil {
		return false, err
	}
	for _, buf := range bufs {
		_, failure := s.conn.WriteToUDPAddrPort(buf, to.to)
		switch {
		case errors.Is(failure, os.ErrDeadlineExceeded):
			return true, errStuck
		case failure != nil && down(failure):
			return false, failure
		case err == nil:
			err = failure
		}
	}
	return false, err
}

func (s *plainSocket) close() error { return s.conn.Close() }
