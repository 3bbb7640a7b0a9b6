package flcollect

import (
	"context"
	"net"
)

// DialRelays replaces the way in which a server that does not run yet connects to others.
func (s *Server) DialRelays(dial func(ctx context.Context, target string) (net.Conn, error)) {
	s.joinGroup(dial)
}
