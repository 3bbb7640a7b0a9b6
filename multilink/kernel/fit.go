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
	if p.port == nil {
		return
	}
	if err := p.fitLocked(p.port.config.Addresses); err != nil {
		p.log.Error("the MTU of the port does not follow the links; it is tried again", "error", err)
	}
}

// fitLocked is fit for a port that has the addresses, or is about to have or lose them. The
// lock is applying.
func (p *Plane) fitLocked(addresses []netip.Prefix) error {
	p.mu.Lock()
	mtu := p.port.fitting(p.peers, addresses)
	p.mu.Unlock()
	if mtu == p.port.mtu {
		return nil
	}
	from := p.port.mtu
	if err := p.host.setMTU(p.port, p.peers, mtu); err != nil {
		return err
	}
	p.log.Info("MTU of the port changed", "from", from, "to", mtu)
	return nil
}

// fitting returns the largest MTU of which every path that is not down carries whole frames.
//
// A port that may have addresses of IPv6 would lose them below 1,280 bytes, and keeps that. So does
// one with several peers: a path that carries less counts for nothing then, because one peer must
// not narrow the network of the others.
func (p *port) fitting(peers map[multilink.Key]*peer, addresses []netip.Prefix) int {
	least := 0
	if !p.made || len(peers) > 1 || slices.ContainsFunc(addresses, func(a netip.Prefix) bool { return a.Addr().Is6() }) {
		least = min(smallestIPv6, p.limit)
	}
	mtu := p.limit
	narrow := false
	fits := false
	for _, to := range peers {
		for _, one := range to.paths {
			if one.watch.state == status.Down {
				continue
			}
			if carried := one.watch.path.Length() - segmentOverhead; carried >= least {
				mtu, fits = min(mtu, carried), true
			} else {
				narrow = true
			}
		}
	}
	if narrow && !fits {
		return least
	}
	return mtu
}
