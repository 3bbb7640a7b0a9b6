package bond

import (
	"fmt"
	"math"
	"time"

	"github.com/iotenablers/enablers/multilink/internal/fault"
	"github.com/iotenablers/enablers/multilink/internal/packet"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// Bond creates one connection to a peer out of several links. Its methods append
// what must be done to an [Output], and [Bond.Next] says when Tick is due.
//
// It is not safe for concurrent use: its owner holds a lock. The times given to
// its methods should have a monotonic reading; one that is earlier than before
// counts as the same.
type Bond struct {
	core
	peering  peering
	monitor  monitor
	selector selector
	sender   sender
	receiver receiver
}

// New creates the bond to one peer over the given links; link i gets the LinkID i.
// The epoch is a random number that is not zero: another one for each bond that is
// ever made. Wrong settings are ErrInvalid; links that share a name or priority
// are ErrDuplicate.
func New(config settings.Bond, links []settings.Link, epoch uint64, now time.Time) (*Bond, error) {
	if epoch == 0 {
		return nil, fmt.Errorf("create bond: epoch: must be a random number, got 0: %w", fault.ErrInvalid)
	}
	b := &Bond{core: core{
		epoch: epoch, clock: clock{start: now}, members: members{lastSlot: -1}, pool: packet.NewPool(),
		ownKey: dispute{reason: reasonOwnTwice}, peerKey: dispute{reason: reasonPeerTwice},
	}}
	b.peering = peering{core: &b.core, probe: packet.Probe{
		Reports: make([]packet.Report, 0, packet.MaxLinks), Spans: make([]packet.Span, 0, packet.MaxSpans),
	}}
	b.monitor = monitor{core: &b.core}
	b.selector = selector{core: &b.core, manual: -1, selections: []selection{{current: -1}}}
	b.sender = sender{core: &b.core, selector: &b.selector, replay: replay{core: &b.core, selector: &b.selector}}
	b.receiver = receiver{core: &b.core, pieces: packet.NewReassembler(packet.ReassemblyBytes, packet.ReassemblyAge)}

	var nothing Output
	if err := b.Configure(now, config, nil, &nothing); err != nil {
		return nil, fmt.Errorf("create bond: %w", err)
	}
	if err := b.SetLinks(now, links, &nothing); err != nil {
		return nil, fmt.Errorf("create bond: %w", err)
	}
	for _, packet := range nothing.Packets {
		packet.Buffer.Release()
	}
	b.next = 0
	for _, l := range b.slots() {
		if l != nil {
			l.due = 0
		}
	}
	return b, nil
}

// Configure changes the settings and the classes, at once and without a loss. It
// checks everything first: when it returns an error nothing has changed.
func (b *Bond) Configure(now time.Time, config settings.Bond, classes []settings.Class, out *Output) error {
	if err := config.Check(); err != nil {
		return err
	}
	if len(classes) > math.MaxInt16 {
		return fmt.Errorf("classes: must be %d at most, got %d: %w", math.MaxInt16, len(classes), fault.ErrInvalid)
	}
	for _, c := range classes {
		if (c.Policy != "" && !c.Policy.Valid()) || c.Copies < 0 || c.MaxDelay < 0 {
			return fmt.Errorf("class %q: policy, copies or max_delay: %w", c.Name, fault.ErrInvalid)
		}
	}
	b.advance(now)
	if defaultPolicy(config) != defaultPolicy(b.config) {
		out.Events = append(out.Events, status.Event{Time: b.wall, Type: "policy", Reason: string(defaultPolicy(config))})
	}
	if config.NoReplay && !b.config.NoReplay {
		b.sender.replay.forget()
	}
	b.config = config
	b.selector.configure(classes)
	b.sender.replay.recount()
	b.selector.permit()
	b.settle(out)
	return nil
}

// SetLinks changes the links to those given, identified by name: a link
// that stays keeps its LinkID and is not disturbed, one that is new gets an ID that
// is free. The caller makes sure that nothing that arrived over a removed link is
// passed to Receive. SetLinks checks everything first: when it returns an error
// nothing has changed. There may be 32 links.
func (b *Bond) SetLinks(now time.Time, links []settings.Link, out *Output) error {
	if err := checkLinks(links); err != nil {
		return err
	}
	b.advance(now)
	b.removeOthers(links)
	for _, config := range links {
		if id, ok := b.LinkID(config.Name); ok {
			b.change(b.links[id], config)
		} else {
			b.add(b.now, config)
		}
		b.wake(b.now)
	}
	b.selector.permit()
	b.measure()
	b.urgent = true
	b.settle(out)
	return nil
}

// removeOthers removes the links that are not among those given.
func (b *Bond) removeOthers(links []settings.Link) {
	for id, l := range b.slots() {
		if l == nil || hasLink(links, l.config.Name) {
			continue
		}
		b.sender.replay.lost(l.bit())
		b.links[id] = nil
		b.stale = true
		if b.selector.manual == id {
			b.selector.manual = -1
		}
	}
}

func hasLink(links []settings.Link, name string) bool {
	for _, c := range links {
		if c.Name == name {
			return true
		}
	}
	return false
}

// change changes the settings of a link.
func (b *Bond) change(l *link, config settings.Link) {
	if l.config.Priority != config.Priority || l.config.Metered != config.Metered ||
		l.config.Cost != config.Cost || l.config.Quota != config.Quota {
		b.stale = true
	}
	if l.config.Disabled != config.Disabled {
		l.loseReception("")
		l.exempt = true
		l.due = b.now
	}
	l.config = config
	l.overQuota = config.Quota > 0 && l.txBytes+l.rxBytes >= config.Quota
	l.setLimits()
}

// SetMTU sets how long a packet, header included, may be on a link. Frames that do
// not fit the smallest of all links are fragmented, so that any link can take
// over. Without SetMTU it is 1,400.
func (b *Bond) SetMTU(link packet.LinkID, mtu int) { b.setMTU(link, mtu) }

// MTU returns how long a packet may be on a link by what is known: SetMTU says so, or less
// than that arrives at the peer.
func (b *Bond) MTU(link packet.LinkID) int {
	if l := b.link(link); l != nil {
		return l.path.Length()
	}
	return 0
}

// Switch makes the bond prefer the named link for a time, as long as that link is
// up. An empty name ends it early. A name that no link has is ErrUnknownLink, a
// link that is not up ErrLinkDown, a hold of no length ErrInvalid.
func (b *Bond) Switch(now time.Time, link string, hold time.Duration, out *Output) error {
	b.advance(now)
	if link == "" {
		b.selector.prefer(-1, 0)
		b.settle(out)
		return nil
	}
	id, ok := b.LinkID(link)
	switch {
	case !ok:
		return fmt.Errorf("switch to %q: %w", link, fault.ErrUnknownLink)
	case hold <= 0:
		return fmt.Errorf("switch to %q: hold: must be more than 0, got %v: %w", link, hold, fault.ErrInvalid)
	case b.links[id].state != status.Up && b.links[id].state != status.Suspect:
		return fmt.Errorf("switch to %q: it is %s: %w", link, b.links[id].state, fault.ErrLinkDown)
	}
	b.selector.prefer(id, hold)
	b.settle(out)
	return nil
}

// Carrier reports that the interface of a link lost its carrier or has it again.
// The reason is for people. A link without carrier is down at once; one that has
// it again is used when the peer has answered for long enough.
func (b *Bond) Carrier(now time.Time, link packet.LinkID, up bool, reason string, out *Output) {
	b.advance(now)
	l := b.link(link)
	if l == nil || l.carrierLost == !up {
		return
	}
	l.carrierLost = !up
	l.loseReception(reason)
	l.due = b.now
	b.urgent = true
	b.settle(out)
}

// Failed reports that a tunnel could not send: see ErrLinkDown. The link is down
// until something is heard on it again.
func (b *Bond) Failed(now time.Time, link packet.LinkID, err error, out *Output) {
	b.advance(now)
	l := b.link(link)
	if l == nil || l.failed {
		return
	}
	l.failed = true
	l.loseReception("sending failed")
	if err != nil {
		l.cause = err.Error()
	}
	b.urgent = true
	b.settle(out)
}
