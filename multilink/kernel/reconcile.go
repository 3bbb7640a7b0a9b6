//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"slices"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/settings"
)

// reconcileLocked makes the kernel hold a state, which was checked, by removing what it
// does not have and then adding what is new. The zero state is nothing at all.
// The lock is applying.
func (p *Plane) reconcileLocked(s multilink.State) error {
	wanted := map[string]settings.Link{}
	most := 1500 - tunnelOverhead - segmentOverhead
	for _, c := range s.Links {
		if c.Disabled {
			continue
		}
		wanted[c.Name] = c
		if l := p.links[c.Name]; l != nil && l.config.InterfaceName() == c.InterfaceName() {
			most = min(most, l.mtu-segmentOverhead) // the interface may be away for a while
			continue
		}
		mtu, err := p.host.tunnelMTU(c.InterfaceName())
		if err != nil {
			return fmt.Errorf("link %q: %w", c.Name, err)
		}
		most = min(most, mtu-segmentOverhead)
	}
	mtu, err := portMTU(s.Port, most)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.bond = s.Bond
	p.mu.Unlock()
	if err := p.prune(s, wanted); err != nil {
		return err
	}
	if s.PrivateKey.IsZero() {
		p.state = s
		return nil
	}
	self, err := s.PrivateKey.PublicKey()
	if err != nil {
		return err
	}
	if err := p.adjustPort(s.Port, mtu, self); err != nil {
		return err
	}
	for _, c := range s.Links {
		if c.Disabled {
			continue
		}
		if err := p.adjustLink(c, s); err != nil {
			return err
		}
	}
	for _, c := range s.Peers {
		if err := p.adjustPeer(c, self, wanted); err != nil {
			return err
		}
	}
	p.state = s
	p.mu.Lock()
	defer p.mu.Unlock()
	p.decideAllLocked("the settings changed")
	return nil
}

// prune removes the peers, paths and links that a state does not have, and
// those that must be created again.
func (p *Plane) prune(s multilink.State, wanted map[string]settings.Link) error {
	var failed []error
	anew := p.state.PrivateKey != s.PrivateKey
	stays := func(l *link) bool {
		c, there := wanted[l.config.Name]
		return there && !anew && c.InterfaceName() == l.config.InterfaceName()
	}
	peers := map[multilink.Key]multilink.PeerConfig{}
	for _, c := range s.Peers {
		peers[c.PublicKey] = c
	}
	for key, to := range p.peers {
		c, there := peers[key]
		for name, one := range to.paths {
			named := slices.ContainsFunc(c.Links, func(l multilink.PeerLink) bool { return l.Link == name })
			if !there || !named || !stays(one.link) {
				failed = append(failed, p.dropPath(to, name))
			}
		}
		if !there || anew {
			p.mu.Lock()
			delete(p.peers, key)
			p.mu.Unlock()
			failed = append(failed, p.host.remove(to.bond))
			p.events.publish(p.event("peer", to.config.Name, "", "removed"))
		}
	}
	for name, l := range p.links {
		if !stays(l) {
			failed = append(failed, p.dropLink(name))
		}
	}
	if p.port != nil && (anew || bridgeName(s.Port) != p.port.bridge || !slices.Equal(s.Port.Members, p.port.config.Members)) {
		failed = append(failed, p.host.removePort(p.port))
		p.port = nil
	}
	return errors.Join(failed...)
}

func (p *Plane) dropPath(to *peer, name string) error {
	p.mu.Lock()
	gone := to.paths[name]
	delete(to.paths, name)
	if to.active == gone {
		to.active = nil
	}
	p.mu.Unlock()
	return p.host.removePath(to, gone)
}

func (p *Plane) dropLink(name string) error {
	p.mu.Lock()
	l := p.links[name]
	delete(p.links, name)
	p.mu.Unlock()
	close(l.stop)
	err := l.probes.Close()
	l.probes = nil
	l.loops.Wait()
	return errors.Join(err, p.host.removeLink(l))
}

// adjustPort creates the bridge, or changes it. Bonds that are there follow.
func (p *Plane) adjustPort(c multilink.PortConfig, mtu int, self multilink.Key) error {
	if p.port != nil {
		p.port.limit = mtu
		if err := p.fitLocked(slices.Concat(p.port.config.Addresses, c.Addresses)); err != nil {
			return err
		}
		return p.host.updatePort(p.port, c)
	}
	made, err := p.host.addPort(c, mtu, self)
	if err != nil {
		return err
	}
	p.port = made
	for _, to := range p.peers {
		if err := p.host.joinBond(made, to); err != nil {
			return err
		}
	}
	return p.host.setMTU(made, p.peers, mtu)
}

// adjustLink creates the device of a link, or changes it.
func (p *Plane) adjustLink(c settings.Link, s multilink.State) error {
	l, there := p.links[c.Name]
	if there {
		if c.Listen != 0 && c.Listen != l.port {
			if err := p.host.listen(l, c.Listen); err != nil {
				return err
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		l.config = c
		for _, to := range p.peers {
			if one := to.paths[c.Name]; one != nil {
				one.watch.configure(c.Probe, s.Bond.WaitToRestore)
			}
		}
		return nil
	}
	made, err := p.host.addLink(c, p.freeNumber(), s.PrivateKey)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.links[c.Name] = made
	p.mu.Unlock()
	p.run(made)
	return nil
}

// freeNumber returns the lowest number that no link has.
func (p *Plane) freeNumber() uint32 {
	taken := map[uint32]bool{}
	for _, l := range p.links {
		taken[l.mark&0xff] = true
	}
	number := uint32(1)
	for taken[number] {
		number++
	}
	return number
}

// adjustPeer creates the bond of a peer and its paths, or changes them.
func (p *Plane) adjustPeer(c multilink.PeerConfig, self multilink.Key, wanted map[string]settings.Link) error {
	to, there := p.peers[c.PublicKey]
	if !there {
		made, err := p.host.addPeer(c, p.port.mtu, self)
		if err != nil {
			return err
		}
		if err := p.host.joinBond(p.port, made); err != nil {
			return errors.Join(err, p.host.remove(made.bond))
		}
		to = made
		p.mu.Lock()
		p.peers[c.PublicKey] = to
		p.mu.Unlock()
		p.events.publish(p.event("peer", c.Name, "", "added"))
	}
	p.mu.Lock()
	to.config = c
	p.mu.Unlock()
	for _, config := range c.Links {
		if _, enabled := wanted[config.Link]; !enabled {
			continue
		}
		if err := p.adjustPath(to, config, self); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plane) adjustPath(to *peer, c multilink.PeerLink, self multilink.Key) error {
	l := p.links[c.Link]
	one, there := to.paths[c.Link]
	if there {
		if one.config == c {
			return nil
		}
		if err := p.host.setKey(l, to.config.PublicKey, c); err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		one.config = c
		return nil
	}
	made, err := p.host.addPath(to, l, c, self)
	if err != nil {
		return err
	}
	made.watch = newWatch(l.config.Probe, p.bond.WaitToRestore, l.mtu)
	p.mu.Lock()
	defer p.mu.Unlock()
	to.paths[c.Link] = made
	return nil
}
