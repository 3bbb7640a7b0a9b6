//go:build !unix

package h1

import "net"

// Reuses reports whether connections are used for more than one request here. Without a
// look into them it is unknown whether a service has sent an unsolicited response, which
// would pass for the next response.
const Reuses = false

// probe cannot look into a connection here.
type probe struct{}

func newProbe(net.Conn) *probe { return nil }

func (*probe) quiet() bool { return false }

func isReset(error) bool { return false }
