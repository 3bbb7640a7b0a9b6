package wg

import (
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.zx2c4.com/wireguard/conn"
)

// maxRemotes bounds the addresses that are remembered: any sender can use as
// many as it likes. To forget one costs no more than what was known of its
// faults.
const maxRemotes = 4096

// fault is why nothing can be sent now.
type fault struct{ err error }

// remote is an address beyond the link, and whether it can be reached. It is
// never changed but for the fault, so that all who talk to it share one.
type remote struct {
	to    netip.AddrPort
	scope uint32 // of a link-local IPv6 address: the interface's index
	fault atomic.Pointer[fault]
}

var _ conn.Endpoint = (*remote)(nil)

// ClearSrc does nothing: the interface decides from which address is sent.
func (r *remote) ClearSrc() {}

func (r *remote) SrcToString() string { return "" }
func (r *remote) SrcIP() netip.Addr   { return netip.Addr{} }
func (r *remote) DstIP() netip.Addr   { return r.to.Addr() }
func (r *remote) DstToString() string { return r.to.String() }
func (r *remote) DstToBytes() []byte {
	b, _ := r.to.MarshalBinary() // cannot fail
	return b
}

// remotes are the addresses that were called or heard from.
type remotes struct {
	mu  sync.Mutex
	all map[netip.AddrPort]*remote
}

// get returns the remote with an address. IPv4 addresses in IPv6 form are IPv4's.
func (rs *remotes) get(to netip.AddrPort) *remote {
	if to.Addr().Is4In6() {
		to = netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if r, ok := rs.all[to]; ok {
		return r
	}
	if rs.all == nil || len(rs.all) >= maxRemotes {
		rs.all = make(map[netip.AddrPort]*remote)
	}
	r := &remote{to: to, scope: scope(to.Addr().Zone())}
	rs.all[to] = r
	return r
}

// scope returns the index of the interface that a zone names. Zero means none.
func scope(zone string) uint32 {
	if zone == "" {
		return 0
	}
	if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(n)
	}
	if i, err := net.InterfaceByName(zone); err == nil {
		return uint32(i.Index)
	}
	return 0
}
