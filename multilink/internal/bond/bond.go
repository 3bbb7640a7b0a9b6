package bond

import (
	"fmt"
	"github.com/iotenablers/enablers/multilink/internal/fault"
	"github.com/iotenablers/enablers/multilink/internal/packet"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
	"math"
	"slices"
	"time"
)

// Bond makes one connection to a peer out of several links. It is a pure state
// machine: it has no goroutines, no clock and no sockets. What it wants done
// it appends to an [Output], and [Bond.Next] says when it wants to be woken.
//
// It is not safe for concurrent use: its owner holds a lock. The times given to
// its methods should have a monotonic reading; one that is earlier than before
// counts as the same.
type Bond struct {
	config settings.Bond
	epoch  uint64
	start  time.Time
	now    time.Duration // since start
	wall   time.Time     // that now is
	next   time.Duration // when Tick is wanted; never is none
	pool   *packet.Pool

	links        [packet.MaxLinks]*link
	lastSlot     int // that was given to a new link
	mtu          int // of the links' MTUs the smallest
	classes      []settings.Class
	selections   []selection // of the defaults, then of the classes
	manual       int         // link that the administrator prefers, or -1
	manualUntil  time.Duration
	lastActive   string
	lastPriority int

	peer     peerState
	number   uint64 // of the next probe
	scratch  packet.Probe
	window   window
	pieces   *packet.Reassembler
	sequence uint64 // of the next data packet
	replay   replay
	pacer    pacer

	hold      time.Duration // until then nothing that waits is sent; 0 is none
	holdBelow uint64        // unless all packets below have arrived

	stale, urgent bool          // links are to be chosen anew; the peer is to be told at once
	reviewed      time.Duration // when links were chosen last
	counters      status.Counters
}

// never is later than all that happens.
const never = time.Duration(math.MaxInt64)

// NewBond makes the bond to one peer over the given links; link i gets the
// LinkID i. The epoch is a random number that is not zero: another one for each
// bond that is ever made. Wrong settings are ErrInvalid; links that share a
// name or priority are ErrDuplicate.
func New(config settings.Bond, links []settings.Link, epoch uint64, now time.Time) (*Bond, error) {
	if epoch == 0 {
		return nil, fmt.Errorf("make bond: epoch: want a random number, got 0: %w", fault.ErrInvalid)
	}
	b := &Bond{epoch: epoch, start: now, pool: packet.NewPool(), lastSlot: -1, manual: -1, selections: []selection{{current: -1}},
		pieces: packet.NewReassembler(packet.ReassemblyBytes, packet.ReassemblyAge)}
	b.scratch = packet.Probe{Reports: make([]packet.Report, 0, packet.MaxLinks), Spans: make([]packet.Span, 0, packet.MaxSpans)}
	var nothing Output
	if err := b.Configure(now, config, nil, &nothing); err != nil {
		return nil, fmt.Errorf("make bond: %w", err)
	}
	if err := b.SetLinks(now, links, &nothing); err != nil {
		return nil, fmt.Errorf("make bond: %w", err)
	}
	for _, packet := range nothing.Packets {
		packet.Buffer.Release()
	}
	b.next = 0
	for _, l := range b.links {
		if l != nil {
			l.due = 0
		}
	}
	return b, nil
}

// Configure changes the settings and the classes, at once and without a loss.
// It checks everything first: when it returns an error nothing has changed.
func (b *Bond) Configure(now time.Time, config settings.Bond, classes []settings.Class, out *Output) error {
	if err := config.Check(); err != nil {
		return err
	}
	if len(classes) > math.MaxInt16 {
		return fmt.Errorf("classes: want %d at most, got %d: %w", math.MaxInt16, len(classes), fault.ErrInvalid)
	}
	for _, c := range classes {
		if c.Policy != "" && !c.Policy.Valid() || c.Copies < 0 || c.MaxDelay < 0 {
			return fmt.Errorf("class %q: policy, copies or max_delay: %w", c.Name, fault.ErrInvalid)
		}
	}
	b.advance(now)
	if policyOf(config) != policyOf(b.config) {
		out.Events = append(out.Events, status.Event{Time: b.time(), Type: "policy", Reason: string(policyOf(config))})
	}
	if config.NoReplay && !b.config.NoReplay {
		b.replay.forget(b)
	}
	b.config = config
	old, names := b.selections, b.classes
	b.classes = slices.Clone(classes)
	b.selections = make([]selection, 1+len(classes))
	b.selections[0] = selection{policy: policyOf(config), copies: config.Copies, current: old[0].current}
	for i, c := range classes {
		p := selection{policy: c.Policy, copies: c.Copies, metered: c.Metered, noReplay: c.NoReplay, control: c.Control, maxDelay: c.MaxDelay, current: -1}
		if p.policy == "" {
			p.policy = policyOf(config)
		}
		if p.copies == 0 {
			p.copies = config.Copies
		}
		if was := slices.IndexFunc(names, func(n settings.Class) bool { return n.Name == c.Name }); was >= 0 {
			p.current = old[was+1].current
		}
		b.selections[i+1] = p
	}
	b.replay.recount(b)
	b.permit()
	b.settle(out)
	return nil
}

func policyOf(c settings.Bond) settings.Policy {
	if c.Policy == "" {
		return settings.ActiveBackup
	}
	return c.Policy
}

func (b *Bond) replayAge() time.Duration {
	if b.config.ReplayAge == 0 {
		return defaultReplayAge
	}
	return b.config.ReplayAge
}

func (b *Bond) replayBytes() int {
	if b.config.ReplayBytes == 0 {
		return defaultReplayBytes
	}
	return b.config.ReplayBytes
}

// Send takes a frame for the peer and appends the packets to send. It copies
// the frame. The class is an index into those of Configure, -1 for the bond's
// defaults; flow is a hash of what tells the frame's flow from others.
//
// While no link is usable frames wait, as long and as many as the replay
// buffer may keep.
func (b *Bond) Send(now time.Time, frame []byte, class int, flow uint32, out *Output) {
	b.advance(now)
	if class < 0 || class >= len(b.classes) {
		class = -1
	}
	p := b.selectionOf(class)
	if len(frame) == 0 || len(frame) > packet.MaxFrame || b.unsendable(p) {
		b.counters.Dropped++
		return
	}
	b.replay.expire(b, b.replayAge())
	b.pacer.offer(b.now, len(frame))
	b.counters.TxFrames++
	b.counters.TxBytes += uint64(len(frame))
	if size := packet.HeaderSize + len(frame); size <= b.mtu || !b.sendPieces(frame, p, class, flow, out) {
		buffer := b.pool.Get(size)
		copy(buffer.Data()[packet.HeaderSize:], frame)
		b.dispatch(packet.TypeData, buffer, p, class, flow, out)
	}
	b.follow(out)
}

// sendPieces sends a frame in several packets. It reports false where the
// links carry so little that it would take too many.
func (b *Bond) sendPieces(frame []byte, p *selection, class int, flow uint32, out *Output) bool {
	pieces, ok := packet.NewSplit(frame, b.mtu)
	if !ok {
		return false
	}
	b.counters.Fragmented++
	for i := range pieces.Count {
		buffer := b.pool.Get(pieces.Size(i))
		pieces.Put(i, buffer.Data()[packet.HeaderSize:])
		b.dispatch(packet.TypeFragment, buffer, p, class, flow, out)
	}
	return true
}

// unsendable reports whether frames of a plan have no link and may not wait
// for one.
func (b *Bond) unsendable(p *selection) bool {
	return (p.count == 0 || !b.peer.established) && (b.config.NoReplay || p.noReplay)
}

// dispatch sends a packet whose header is still to be written, or has it wait.
// It takes the buffer over.
func (b *Bond) dispatch(kind uint8, buffer *packet.Buffer, p *selection, class int, flow uint32, out *Output) {
	sequence := b.sequence
	b.sequence++
	packet.Header{Kind: kind, Tag: packet.EpochTag(b.epoch), Sequence: sequence}.Put(buffer.Data())
	links, waits := p.linksFor(flow), false
	switch {
	case p.count == 0 || !b.peer.established:
		links, waits = 0, true
	case p.queues(flow) && !p.noReplay:
		links, waits = links&p.direct, true
	}
	forget := b.config.NoReplay || p.noReplay
	if waits || !forget {
		b.replay.keep(b, sequence, kept{buffer: buffer, at: b.now, links: links, flow: flow, class: int16(class),
			waits: waits, sent: links != 0, once: forget}, b.replayBytes())
	}
	b.transmit(buffer, class, links, out)
	buffer.Release()
}

// transmit sends a packet over the links.
func (b *Bond) transmit(buffer *packet.Buffer, class int, links uint32, out *Output) {
	for id := 0; links != 0; id, links = id+1, links>>1 {
		if links&1 == 0 {
			continue
		}
		buffer.Retain(1)
		b.spend(b.links[id], len(buffer.Data()), 0)
		out.Packets = append(out.Packets, packet.Packet{Link: packet.LinkID(id), Class: class, Buffer: buffer})
	}
}

// spend counts the bytes of packets on a link.
func (b *Bond) spend(l *link, sent, received int) {
	l.txBytes += uint64(sent)
	l.rxBytes += uint64(received)
	if l.config.Quota > 0 && !l.overQuota && l.txBytes+l.rxBytes >= l.config.Quota {
		l.overQuota, b.stale = true, true
	}
}

// follow does what a frame or packet made necessary.
func (b *Bond) follow(out *Output) {
	if b.stale || b.urgent {
		b.settle(out)
	} else if b.replay.waiting > 0 {
		b.pump(out)
	}
}

// Receive takes a packet that arrived over a link, and appends the frames to
// deliver. They point into the packet, which must stay as it is until they are
// delivered. Packets that make no sense are dropped.
func (b *Bond) Receive(now time.Time, link packet.LinkID, data []byte, out *Output) {
	b.advance(now)
	l := b.link(link)
	h, ok := packet.ParseHeader(data)
	if l == nil || !ok || l.config.Disabled || l.carrierLost {
		return
	}
	b.spend(l, 0, len(data))
	if h.Kind == packet.TypeProbe {
		if b.scratch.Parse(data[packet.HeaderSize:]) {
			b.probed(l, h, &b.scratch, out)
		}
		return
	}
	if b.peer.epoch == 0 || h.Tag != packet.EpochTag(b.peer.epoch) {
		return
	}
	if l.hearing {
		l.hear(b.now)
		if l.late {
			l.late, b.urgent = false, true
		}
	}
	switch b.window.accept(h.Sequence) {
	case fresh:
		b.deliver(h, data[packet.HeaderSize:], out)
	case duplicate:
		b.counters.Duplicates++
	case expired:
		b.counters.Expired++
	}
	b.follow(out)
}

// deliver takes what a packet of data carries.
func (b *Bond) deliver(h packet.Header, payload []byte, out *Output) {
	if h.Kind == packet.TypeFragment {
		payload = b.pieces.Add(b.now, h.Sequence, payload)
		if payload == nil {
			return
		}
		b.counters.Reassembled++
	}
	if len(payload) == 0 || len(payload) > packet.MaxFrame {
		return
	}
	b.counters.RxFrames++
	b.counters.RxBytes += uint64(len(payload))
	out.Frames = append(out.Frames, payload)
}

// Tick does what is due: it sends probes, finds links that fell silent, and
// sends again what is to be sent again.
//
// Call it when Next says so, and do so even when there is nothing to send: a
// Tick that comes late by more than half a probe's interval tells the bond
// that this process stalled, and the links are given that time. What had
// arrived by then should be given to Receive first. Where that cannot be, at
// least no lock may keep a packet that was read from getting to Receive: a
// link is given up at the earliest an eighth of its interval after the Tick
// that found it silent, and only where another one was heard all the while.
func (b *Bond) Tick(now time.Time, out *Output) {
	b.advance(now)
	b.stalled()
	b.next = never
	b.listen()
	if b.manual >= 0 && b.now >= b.manualUntil {
		b.manual, b.stale = -1, true
	}
	if b.config.Reselect == settings.ReselectBetter && b.now-b.reviewed >= time.Second {
		b.stale = true // round trips change without a word
	}
	b.repair()
	b.replay.expire(b, b.replayAge())
	b.pieces.Expire(b.now)
	if at, ok := b.pieces.Next(); ok {
		b.wake(at)
	}
	b.settle(out)
	b.probes(out)
	if b.manual >= 0 {
		b.wake(b.manualUntil)
	}
}

// repair has those packets sent again that were lost in gaps too short for a
// failover.
func (b *Bond) repair() {
	for _, l := range b.links {
		switch {
		case l == nil || l.repairAt == 0:
		case b.now >= l.repairAt:
			b.replay.repeat(b, l.bit(), l.repairUpTo)
			l.repairAt = 0
		default:
			b.wake(l.repairAt)
		}
	}
}

// Next is when the bond wants Tick to be called; the zero time is never. Any
// other call may move it to an earlier time.
func (b *Bond) Next() time.Time {
	if b.next == never {
		return time.Time{}
	}
	return b.start.Add(b.next)
}

// wake asks for a Tick at a time, or earlier.
func (b *Bond) wake(at time.Duration) { b.next = min(b.next, at) }

func (b *Bond) advance(now time.Time) {
	if elapsed := now.Sub(b.start); elapsed >= b.now {
		b.now, b.wall = elapsed, now
	}
}

// time is what the clock on the wall says, which may have been set since start.
func (b *Bond) time() time.Time { return b.wall }

func (b *Bond) link(id packet.LinkID) *link {
	if id < 0 || int(id) >= len(b.links) {
		return nil
	}
	return b.links[id]
}
