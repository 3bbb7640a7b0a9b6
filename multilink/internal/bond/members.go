package bond

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"github.com/iotenablers/enablers/multilink/internal/fault"
	"github.com/iotenablers/enablers/multilink/internal/packet"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// defaultMTU of a link whose MTU is not set.
const defaultMTU = 1400

// members are the links of a bond.
type members struct {
	links    [packet.MaxLinks]*link // by ID; nil where an ID is free
	lastSlot int                    // given to the newest link
	end      int                    // above all IDs that were ever given
	mtu      int                    // the smallest of the links
}

// link returns the link with that ID, or nil.
func (m *members) link(id packet.LinkID) *link {
	if id < 0 || int(id) >= len(m.links) {
		return nil
	}
	return m.links[id]
}

// slots returns the links by ID, without the IDs that no link ever had. An element
// is nil where an ID is free.
func (m *members) slots() []*link { return m.links[:m.end] }

// hearing reports whether the peer is heard on any link.
func (m *members) hearing() bool {
	return slices.ContainsFunc(m.slots(), func(l *link) bool { return l != nil && l.hearing })
}

// LinkID returns the ID of the link of that name, and whether there is one.
func (m *members) LinkID(name string) (packet.LinkID, bool) {
	for id, l := range m.slots() {
		if l != nil && l.config.Name == name {
			return packet.LinkID(id), true
		}
	}
	return -1, false
}

// add adds a link. Its ID is free, and the one that became free last is used last.
func (m *members) add(now time.Duration, config settings.Link) {
	for i := range m.links {
		id := (m.lastSlot + 1 + i) % packet.MaxLinks
		if m.links[id] != nil {
			continue
		}
		m.lastSlot, m.end = id, max(m.end, id+1)
		l := &link{
			id: packet.LinkID(id), config: config, hash: nameHash(config.Name),
			state: status.Down, changed: now, reason: "new", due: now, lastProbe: now - slowProbe,
		}
		if config.Disabled {
			l.state, l.reason = status.Disabled, "by the administrator"
		}
		l.path.Restrict(defaultMTU)
		l.setLimits()
		m.links[id] = l
		return
	}
}

// setMTU stores the MTU of a link. Frames that do not fit the smallest MTU of all
// links are fragmented, so that any link can take over.
func (m *members) setMTU(id packet.LinkID, mtu int) {
	if l := m.link(id); l != nil {
		l.path.Restrict(min(mtu, packet.HeaderSize+packet.MaxFrame))
		m.measure()
	}
}

// measure finds the smallest MTU.
func (m *members) measure() {
	m.mtu = 0
	for _, l := range m.slots() {
		if l != nil && !l.config.Disabled && (m.mtu == 0 || l.path.Length() < m.mtu) {
			m.mtu = l.path.Length()
		}
	}
}

// mask returns the set of links of those names, and of all links where there are
// no names.
func (m *members) mask(names []string) uint32 {
	if len(names) == 0 {
		return math.MaxUint32
	}
	var mask uint32
	for id, l := range m.slots() {
		if l != nil && slices.Contains(names, l.config.Name) {
			mask |= 1 << id
		}
	}
	return mask
}

// checkLinks reports the first link that a bond cannot have.
func checkLinks(links []settings.Link) error {
	if len(links) > packet.MaxLinks {
		return fmt.Errorf("set links: must be %d at most, got %d: %w", packet.MaxLinks, len(links), fault.ErrInvalid)
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
				return fmt.Errorf("link %q: priority %d, like %q: %w",
					link.Name, link.Priority, other.Name, fault.ErrDuplicate)
			case nameHash(other.Name) == nameHash(link.Name):
				return fmt.Errorf("link %q: name has the same hash as %q: %w", link.Name, other.Name, fault.ErrDuplicate)
			}
		}
	}
	return nil
}

// nameHash identifies a link in probes: both ends use the same name.
func nameHash(name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32()
}
