package bond

import (
	"fmt"
	"github.com/iotenablers/enablers/multilink/internal/fault"
	"github.com/iotenablers/enablers/multilink/internal/packet"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
	"hash/fnv"
	"slices"
	"time"
)

// defaultMTU of a link of which nothing was said.
const defaultMTU = 1400

// SetLinks changes the links to those given, which are told apart by name: a
// link that stays keeps its LinkID and is not disturbed, one that is new gets
// an ID that is free, the one freed last at the latest. The caller takes care
// that nothing that arrived over a link that is gone is given to Receive. It
// checks everything first: when it returns an error nothing has changed. There
// may be 32 links.
func (b *Bond) SetLinks(now time.Time, links []settings.Link, out *Output) error {
	if err := checkLinks(links); err != nil {
		return err
	}
	b.advance(now)
	for id, l := range b.links {
		if l != nil && !slices.ContainsFunc(links, func(c settings.Link) bool { return c.Name == l.config.Name }) {
			b.remove(id)
		}
	}
	for _, config := range links {
		if id, ok := b.LinkID(config.Name); ok {
			b.change(b.links[id], config)
			continue
		}
		b.add(config)
	}
	b.permit()
	b.measure()
	b.urgent = true
	b.settle(out)
	return nil
}

func checkLinks(links []settings.Link) error {
	if len(links) > packet.MaxLinks {
		return fmt.Errorf("set links: want %d at most, got %d: %w", packet.MaxLinks, len(links), fault.ErrInvalid)
	}
	for i, link := range links {
		if err := link.Check(); err != nil {
			return err
		}
		for _, other := range links[:i] {
			switch {
			case other.Name == link.Name:
				return fmt.Errorf("link %q: name: %w", link.Name, fault.ErrDuplicate)
			case other.Priority == link.Priority:
				return fmt.Errorf("link %q: priority %d, like %q: %w", link.Name, link.Priority, other.Name, fault.ErrDuplicate)
			case nameHash(other.Name) == nameHash(link.Name):
				return fmt.Errorf("link %q: name has the same hash as %q: %w", link.Name, other.Name, fault.ErrDuplicate)
			}
		}
	}
	return nil
}

// nameHash stands for a link in probes: both ends call it alike.
func nameHash(name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32()
}

func (b *Bond) add(config settings.Link) {
	for i := range b.links {
		id := (b.lastSlot + 1 + i) % packet.MaxLinks
		if b.links[id] != nil {
			continue
		}
		b.lastSlot = id
		l := &link{id: packet.LinkID(id), config: config, hash: nameHash(config.Name), mtu: defaultMTU, state: status.Down,
			changed: b.now, reason: "new", due: b.now, lastProbe: b.now - slowProbe}
		if config.Disabled {
			l.state, l.reason = status.Disabled, "by the administrator"
		}
		l.limits()
		b.links[id] = l
		b.wake(b.now)
		return
	}
}

func (b *Bond) change(l *link, config settings.Link) {
	if l.config.Priority != config.Priority || l.config.Metered != config.Metered || l.config.Cost != config.Cost || l.config.Quota != config.Quota {
		b.stale = true
	}
	if l.config.Disabled != config.Disabled {
		l.deafen("")
		l.innocent = true
		l.due = b.now
	}
	l.config = config
	l.overQuota = config.Quota > 0 && l.txBytes+l.rxBytes >= config.Quota
	l.limits()
	b.wake(b.now)
}

func (b *Bond) remove(id int) {
	b.replay.lost(b, b.links[id].bit())
	b.links[id] = nil
	b.stale = true
	if b.manual == id {
		b.manual = -1
	}
}

// permit sets which links the classes may use.
func (b *Bond) permit() {
	for i := range b.selections {
		var names []string
		if i > 0 {
			names = b.classes[i-1].Links
		}
		b.selections[i].allowed = b.classMask(names)
	}
	b.stale = true
}

// LinkID returns the ID of the link of that name, and whether there is one.
func (b *Bond) LinkID(name string) (packet.LinkID, bool) {
	for id, l := range b.links {
		if l != nil && l.config.Name == name {
			return packet.LinkID(id), true
		}
	}
	return -1, false
}

// SetMTU says how long a packet, header included, may be on a link: see
// [Tunnel.MTU]. Frames that do not fit the smallest of all links travel in
// pieces, so that any link can take over. It is 1,400 until told.
func (b *Bond) SetMTU(link packet.LinkID, mtu int) {
	if l := b.link(link); l != nil {
		l.mtu = mtu
		b.measure()
	}
}

// measure finds the smallest MTU.
func (b *Bond) measure() {
	b.mtu = 0
	for _, l := range b.links {
		if l != nil && !l.config.Disabled && (b.mtu == 0 || l.mtu < b.mtu) {
			b.mtu = l.mtu
		}
	}
}

// Switch has the bond prefer the named link for a time, as long as that link
// is up. An empty name ends it early. A name that no link has is
// ErrUnknownLink, a link that is not up ErrLinkDown, a hold of no length
// ErrInvalid.
func (b *Bond) Switch(now time.Time, link string, hold time.Duration, out *Output) error {
	b.advance(now)
	if link == "" {
		b.manual, b.stale = -1, true
		b.settle(out)
		return nil
	}
	id, ok := b.LinkID(link)
	switch {
	case !ok:
		return fmt.Errorf("switch to %q: %w", link, fault.ErrUnknownLink)
	case hold <= 0:
		return fmt.Errorf("switch to %q: hold: want more than 0, got %v: %w", link, hold, fault.ErrInvalid)
	case b.links[id].state != status.Up && b.links[id].state != status.Suspect:
		return fmt.Errorf("switch to %q: it is %s: %w", link, b.links[id].state, fault.ErrLinkDown)
	}
	b.manual, b.manualUntil, b.stale = int(id), b.now+min(hold, never-b.now), true
	b.wake(b.manualUntil)
	b.settle(out)
	return nil
}

// Carrier tells that the interface of a link lost its carrier or has it again.
// The reason is for people. A link without carrier is down at once; one that
// has it again is used when the peer has answered for long enough.
func (b *Bond) Carrier(now time.Time, link packet.LinkID, up bool, reason string, out *Output) {
	b.advance(now)
	l := b.link(link)
	if l == nil || l.carrierLost == !up {
		return
	}
	l.carrierLost = !up
	l.deafen(reason)
	l.due = b.now
	b.urgent = true
	b.settle(out)
}

// Failed tells that a tunnel could not send: see ErrLinkDown. The link is down
// until something is heard on it again.
func (b *Bond) Failed(now time.Time, link packet.LinkID, err error, out *Output) {
	b.advance(now)
	l := b.link(link)
	if l == nil || l.failed {
		return
	}
	l.failed = true
	l.deafen("sending failed")
	if err != nil {
		l.cause = err.Error()
	}
	b.urgent = true
	b.settle(out)
}
