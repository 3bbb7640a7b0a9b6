package multilink

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"
)

// Bond makes one connection to a peer out of several links. It is a pure state
// machine: it has no goroutines, no clock and no sockets. What it wants done
// it appends to an [Output], and [Bond.Next] says when it wants to be woken.
//
// It is not safe for concurrent use: its owner holds a lock. The time given to
// its methods should have a monotonic reading; an earlier time than before
// counts as the same.
type Bond struct {
	config  BondConfig
	classes []Class
	epoch   uint64
	start   time.Time
	now     time.Duration // since start
	pool    *bufferPool

	links    [maxLinks]*linkState
	sequence uint64 // of the next data packet
	number   uint64 // of the next probe
	window   window
	peer     peerState
	active   int // link, or -1
	counters Counters
	scratch  probe
	next     time.Duration
}

// peerState is what is known of the other end.
type peerState struct {
	epoch       uint64 // 0 is none
	established bool   // it has adopted our epoch
}

// linkState is what a bond knows of one of its links.
type linkState struct {
	config LinkConfig
	hash   uint32
	mtu    int
	state  LinkState

	sequence  uint32 // of the next probe
	due       time.Duration
	heard     time.Duration
	everHeard bool
	echo      uint64
	theirSent uint64
	sentAt    time.Duration
	srtt      time.Duration
	txBytes   uint64
	rxBytes   uint64
	changed   time.Time
	reason    string
}

// NewBond makes the bond to one peer over the given links; link i gets the
// LinkID i. The epoch is a random number that is not zero: another one for each
// bond that is ever made. Wrong settings are ErrInvalid, links that share a
// name or priority ErrDuplicate.
func NewBond(config BondConfig, links []LinkConfig, epoch uint64, now time.Time) (*Bond, error) {
	if err := config.Check(); err != nil {
		return nil, err
	}
	if epoch == 0 {
		return nil, fmt.Errorf("make bond: epoch: want a random number, got 0: %w", ErrInvalid)
	}
	b := &Bond{config: config, epoch: epoch, start: now, pool: newBufferPool(), active: -1}
	if err := b.SetLinks(now, links, &Output{}); err != nil {
		return nil, fmt.Errorf("make bond: %w", err)
	}
	return b, nil
}

// SetLinks changes the links to those given, which are told apart by name: a
// link that stays keeps its LinkID and is not disturbed, one that is new gets
// an ID that nobody has, the least recently used first. Packets of a link that
// goes must no longer be given to the bond. It checks everything first: when
// it returns an error nothing has changed.
func (b *Bond) SetLinks(now time.Time, links []LinkConfig, out *Output) error {
	if len(links) > maxLinks {
		return fmt.Errorf("set links: want %d at most, got %d: %w", maxLinks, len(links), ErrInvalid)
	}
	for i, link := range links {
		if err := link.Check(); err != nil {
			return err
		}
		for _, other := range links[:i] {
			if other.Name == link.Name || other.Priority == link.Priority || nameHash(other.Name) == nameHash(link.Name) {
				return fmt.Errorf("link %q: name or priority taken by %q: %w", link.Name, other.Name, ErrDuplicate)
			}
		}
	}
	for id, l := range b.links {
		if l != nil && !slices.ContainsFunc(links, func(c LinkConfig) bool { return c.Name == l.config.Name }) {
			b.links[id] = nil
		}
	}
	for _, link := range links {
		if id, ok := b.LinkID(link.Name); ok {
			b.links[id].config = link
			continue
		}
		free := slices.Index(b.links[:], nil)
		b.links[free] = &linkState{config: link, hash: nameHash(link.Name), state: Down, mtu: 1400, due: b.now}
	}
	return nil
}

func nameHash(name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32()
}

// LinkID returns the ID of the link of that name, and whether there is one.
func (b *Bond) LinkID(name string) (LinkID, bool) {
	for id, l := range b.links {
		if l != nil && l.config.Name == name {
			return LinkID(id), true
		}
	}
	return -1, false
}

// SetMTU says how long a packet, header included, may be on a link, as
// [Tunnel.MTU] does. Frames that do not fit the smallest of all links travel in
// pieces. It is 1,400 until told.
func (b *Bond) SetMTU(link LinkID, mtu int) {
	if l := b.link(link); l != nil {
		l.mtu = mtu
	}
}

// Configure changes the settings and the classes, at once and without a loss.
// It checks everything first: when it returns an error nothing has changed.
func (b *Bond) Configure(now time.Time, config BondConfig, classes []Class, out *Output) error {
	if err := config.Check(); err != nil {
		return err
	}
	b.config, b.classes = config, slices.Clone(classes)
	return nil
}

// Switch has the bond prefer the named link for a time, as long as that link
// is up. An empty name ends it early. A name that no link has is
// ErrUnknownLink; a link that is not up is ErrLinkDown.
func (b *Bond) Switch(now time.Time, link string, hold time.Duration, out *Output) error {
	if _, ok := b.LinkID(link); !ok && link != "" {
		return fmt.Errorf("switch to %q: %w", link, ErrUnknownLink)
	}
	return nil
}

// Send takes a frame for the peer and appends the packets to send. It copies
// the frame. The class is an index into those of Configure, -1 for the bond's
// defaults; flow is a hash of what tells the frame's flow from others.
func (b *Bond) Send(now time.Time, frame []byte, class int, flow uint32, out *Output) {
	b.advance(now)
	if b.active < 0 || len(frame) > MaxFrame {
		b.counters.Dropped++
		return
	}
	buffer := b.pool.get(HeaderSize + len(frame))
	header{kind: typeData, tag: epochTag(b.epoch), sequence: b.sequence}.put(buffer.data)
	copy(buffer.data[HeaderSize:], frame)
	b.sequence++
	b.counters.TxFrames++
	b.counters.TxBytes += uint64(len(frame))
	b.links[b.active].txBytes += uint64(len(buffer.data))
	out.Packets = append(out.Packets, Packet{Link: LinkID(b.active), Class: class, Buffer: buffer})
}

// Receive takes a packet that arrived over a link, and appends the frames to
// deliver. They point into the packet, which must stay as it is until they are
// delivered. Packets that make no sense are dropped.
func (b *Bond) Receive(now time.Time, link LinkID, packet []byte, out *Output) {
	b.advance(now)
	l := b.link(link)
	h, ok := parseHeader(packet)
	if l == nil || !ok {
		return
	}
	l.rxBytes += uint64(len(packet))
	switch h.kind {
	case typeProbe:
		if !b.scratch.parse(packet[HeaderSize:]) || b.scratch.epoch == b.epoch {
			return
		}
		p := &b.scratch
		l.heard, l.everHeard, l.echo, l.theirSent, l.sentAt = b.now, true, p.epoch, p.sent, b.now
		if p.echo == b.epoch {
			b.peer = peerState{p.epoch, true}
		}
	case typeData:
		if b.peer.epoch == 0 || h.tag != epochTag(b.peer.epoch) {
			return
		}
		l.heard = b.now
		switch b.window.accept(h.sequence) {
		case fresh:
			b.counters.RxFrames++
			b.counters.RxBytes += uint64(len(packet) - HeaderSize)
			out.Frames = append(out.Frames, packet[HeaderSize:])
		case duplicate:
			b.counters.Duplicates++
		case expired:
			b.counters.Expired++
		}
	}
	b.judge(out)
}

// Tick does what is due: it sends probes, finds links that fell silent, and
// sends again what is to be sent again. Call it when Next says so, and after
// the packets that arrived before were given to Receive: a Tick that comes
// late knows that the process stalled, and gives the links that time.
func (b *Bond) Tick(now time.Time, out *Output) {
	b.advance(now)
	b.next = b.now + time.Second
	for id, l := range b.links {
		if l == nil {
			continue
		}
		if b.now >= l.due {
			b.probe(LinkID(id), l, out)
		}
		b.next = min(b.next, l.due)
	}
	b.judge(out)
}

func (b *Bond) probe(id LinkID, l *linkState, out *Output) {
	p := probe{epoch: b.epoch, echo: l.echo, sequence: l.sequence, sent: uint64(b.now) + 1, echoed: l.theirSent, held: b.now - l.sentAt,
		interval: defaultProbe, multiplier: defaultMultiple, established: b.peer.epoch != 0}
	buffer := b.pool.get(maxProbeLen)
	buffer.data = p.append(buffer.data[:0], header{kind: typeProbe, tag: epochTag(b.epoch), sequence: b.number})
	b.number++
	l.sequence++
	l.due = b.now + defaultProbe
	out.Packets = append(out.Packets, Packet{Link: id, Class: -1, Control: true, Buffer: buffer})
}

func (b *Bond) judge(out *Output) {
	best := -1
	for id, l := range b.links {
		if l == nil || l.config.Disabled {
			continue
		}
		state := Down
		if l.everHeard && b.peer.epoch != 0 && b.now-l.heard < defaultMultiple*defaultProbe {
			state = Up
			if best < 0 || l.config.Priority < b.links[best].config.Priority {
				best = id
			}
		}
		if state != l.state {
			l.state = state
			out.Events = append(out.Events, Event{Time: b.time(), Type: "link", Link: l.config.Name, State: state})
		}
	}
	b.active = best
}

// Next is when the bond wants Tick to be called. Any other call may change it.
func (b *Bond) Next() time.Time { return b.start.Add(b.next) }

// Carrier tells that the interface of a link lost its carrier or has it again.
func (b *Bond) Carrier(now time.Time, link LinkID, up bool, reason string, out *Output) {
	b.advance(now)
}

// Failed tells that a tunnel could not send, because of an error that is
// ErrLinkDown.
func (b *Bond) Failed(now time.Time, link LinkID, err error, out *Output) {
	b.advance(now)
}

// Status is how the bond is doing. The name, key and handshake of the peer and
// the ports of the links are for the caller to fill in.
func (b *Bond) Status(now time.Time) PeerStatus {
	b.advance(now)
	s := PeerStatus{Counters: b.counters}
	for _, l := range b.links {
		if l != nil {
			s.Connected = s.Connected || l.state == Up
			s.Links = append(s.Links, LinkStatus{Name: l.config.Name, Interface: l.config.Interface, Kind: l.config.Kind, Priority: l.config.Priority,
				State: l.state, TxBytes: l.txBytes, RxBytes: l.rxBytes, LastChange: l.changed, Reason: l.reason})
		}
	}
	if b.active >= 0 {
		s.ActiveLink = b.links[b.active].config.Name
	}
	return s
}

func (b *Bond) link(id LinkID) *linkState {
	if id < 0 || int(id) >= len(b.links) {
		return nil
	}
	return b.links[id]
}

func (b *Bond) advance(now time.Time) { b.now = max(b.now, now.Sub(b.start)) }

func (b *Bond) time() time.Time { return b.start.Add(b.now) }
