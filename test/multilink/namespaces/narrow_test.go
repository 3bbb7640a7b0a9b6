package namespaces

import (
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/netlab"
)

// pathMTU returns that of an instance's primary link.
func (i *instance) pathMTU() int {
	var records []struct {
		PathMTU int `json:"path_mtu"`
	}
	i.do("GET", "/interfaces", nil, &records)
	return records[0].PathMTU
}

// pour sends over TCP from the client to the server until the test ends. It returns how many
// bytes have arrived.
func (p *pair) pour() *atomic.Int64 {
	var listener net.Listener
	require.NoError(p.t, p.lab.In(netlab.Server, func() (err error) {
		listener, err = net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(netip.AddrPortFrom(serverAddress, 9)))
		return err
	}))
	p.t.Cleanup(func() { listener.Close() })
	arrived := new(atomic.Int64)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := conn.Read(buffer)
			arrived.Add(int64(n))
			if err != nil {
				return
			}
		}
	}()
	var sender net.Conn
	require.NoError(p.t, p.lab.In(netlab.Client, func() (err error) {
		sender, err = net.DialTCP("tcp4", nil, net.TCPAddrFromAddrPort(netip.AddrPortFrom(serverAddress, 9)))
		return err
	}))
	p.t.Cleanup(func() { sender.Close() })
	go func() { _, _ = io.Copy(sender, zeros{}) }() // it ends with the connection
	return arrived
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A tunnel of a provider, or LTE, may carry less than its interface says, in silence.
func TestLink_thatSwallowsLongPackets_carriesTCP(t *testing.T) {
	p := connect(t)
	for _, i := range []*instance{p.client, p.server} {
		await(t, "the path MTU to be known", func() bool { return i.pathMTU() == 1500 })
	}
	arrived := p.pour()
	const some = 5 << 20
	await(t, "bytes to arrive", func() bool { return arrived.Load() > some })
	require.NoError(t, p.lab.Narrow(links[0].name, 1400))
	for _, i := range []*instance{p.client, p.server} {
		await(t, "the path MTU to be found", func() bool { return i.pathMTU() > 1400-40 && i.pathMTU() <= 1400 })
	}
	for range 3 {
		before := arrived.Load()
		await(t, "more bytes to arrive", func() bool { return arrived.Load() > before+some })
	}
	require.Equal(t, links[0].name, p.client.active())
}
