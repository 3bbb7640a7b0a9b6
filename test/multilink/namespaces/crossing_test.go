package namespaces

import (
	"fmt"
	"net"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/netlab"
)

// small pings with a small packet in every millisecond, none of which may be lost. The window is smaller
// than every queue on the way, of which the shortest, that of a TAP device, holds 500 packets.
func small() netlab.Ping {
	return netlab.Ping{Interval: time.Millisecond, Size: 100, Patience: patience, Grace: 50 * time.Millisecond, Window: 256}
}

// crossing is a ping that goes on across the bonded network.
type crossing struct {
	p *pair
	*netlab.Pinging
}

func (p *pair) cross(conn *net.UDPConn, ping netlab.Ping) crossing {
	return crossing{p, ping.Begin(conn)}
}

// carry waits until so many more packets have crossed there and back.
func (c crossing) carry(packets int) {
	c.p.t.Helper()
	from := c.Sent()
	await(c.p.t, fmt.Sprintf("%d packets to cross", packets), func() bool { return c.Reached() >= from+packets })
}

func (c crossing) end() netlab.Pinged {
	c.p.t.Helper()
	pinged, err := c.End()
	require.NoError(c.p.t, err)
	return pinged
}
