//go:build linux

package kernel

import (
	"net/netip"
	"slices"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/status"
)

// fit makes the MTU of the port follow what the paths carry. While a state is applied it
// does nothing: another call follows.
func (p *Plane) fit() {
	if !p.applying.TryLock() {
		return
	}
	defer p.applying.Unlock()
	if err := p.fitLocked(); err != nil {
		p.log.Error("the MTU of the port does not follow the links; it is tried again", "error", err)
	}
}

// fitLocked is fit with the lock applying.
func (p *Plane) fitLocked() error {
	if p.port == nil {
		return nil
	}
	p.mu.Lock()
	mtu := p.port.fitting(p.peers)
	p.mu.Unlock()
	if mtu == p.port.mtu {
		return nil
	}
	p.log.Info("MTU of the port changed", "from", p.port.mtu, "to", mtu)
	return p.host.setMTU(p.port, p.peers, mtu)
}

// fitting is the largest MTU of which every path that is not down carries whole frames.
// A port that may have addresses of IPv6 would lose them below 1,280 bytes, and keeps that.
func (p *port) fitting(peers map[multilink.Key]*peer) int {
	mtu, least := p.limit, 0
	for _, to := range peers {
		for _, one := range to.paths {
			if one.watch.state != status.Down {
				mtu = min(mtu, one.watch.path.Length()-segmentOverhead)
			}
		}
	}
	if !p.made || slices.ContainsFunc(p.config.Addresses, func(a netip.Prefix) bool { return a.Addr().Is6() }) {
		least = smallestIPv6
	}
	return max(mtu, min(least, p.limit))
}
