package bond_test

import (
	"container/heap"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/internal/bond"
	"github.com/iotenablers/enablers/multilink/internal/packet"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// world is two bonds and the links between them, in simulated time: minutes
// pass in milliseconds, and the same seed gives the same run.
type world struct {
	t      *testing.T
	now    time.Time
	start  time.Time
	events eventHeap
	order  int
	rng    *rand.Rand
	ends   [2]*end
	wires  map[wireKey]*wire
	links  []settings.Link
	epochs uint64
	latest map[string]*end // where packets for end 1 go, by link; nil is always to ends[1]
}

type wireKey struct {
	name string
	from int
}

// wire is one direction of a link.
type wire struct {
	delay, jitter time.Duration
	loss          float64
	twice         float64 // packets that arrive twice
	unordered     bool
	cut           bool
	narrow        int  // longest packet that it does not swallow; 0 is any
	longest       int  // packet that was sent
	old           bool // the sender is of a release that reports no lengths
	last          time.Time
	bytes         int
}

// end is one bond and its application.
type end struct {
	world    *world
	index    int
	bond     *bond.Bond
	ticking  time.Time // the tick that is planned
	stalled  time.Time // until then nothing is done
	inbox    []func()
	deaf     map[string][]func() // what is not read, by link
	got      []arrival
	events   []status.Event
	sent     uint64
	out      bond.Output
	answered func(frame []byte)
}

type arrival struct {
	number uint64
	at     time.Duration
}

type event struct {
	at    time.Time
	order int
	do    func()
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at.Before(h[j].at) || (h[i].at.Equal(h[j].at) && h[i].order < h[j].order)
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(event)) }
func (h *eventHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// threeLinks returns a WiFi primary and two backups, with 1, 2 and 3 ms of delay.
func threeLinks() []settings.Link {
	return []settings.Link{
		{Name: "wifi", Kind: settings.WiFi, Priority: 1},
		{Name: "mesh", Kind: settings.Mesh, Priority: 2},
		{Name: "5g", Kind: settings.FiveG, Priority: 3},
	}
}

func newWorld(t *testing.T, seed uint64, config settings.Bond, links []settings.Link) *world {
	if raced {
		t.Skip("a simulation is one goroutine: there is nothing to race with, and it takes ten times as long")
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w := &world{t: t, now: start, start: start, rng: rand.New(rand.NewPCG(seed, 9)), wires: map[wireKey]*wire{},
		links: links, epochs: seed<<32 | 0x1000}
	for i, link := range links {
		for from := range 2 {
			w.wires[wireKey{link.Name, from}] = &wire{delay: time.Duration(i+1) * time.Millisecond}
		}
	}
	for i := range w.ends {
		w.ends[i] = &end{world: w, index: i}
		w.boot(i, config)
	}
	return w
}

// boot gives an end a bond, or another one.
func (w *world) boot(i int, config settings.Bond) {
	w.epochs++
	bond, err := bond.New(config, w.links, w.epochs, w.now)
	require.NoError(w.t, err)
	w.ends[i].bond = bond
	w.ends[i].plan()
}

// classes sets those of both ends.
func (w *world) classes(config settings.Bond, classes []settings.Class) {
	for _, e := range w.ends {
		e.do(func() { require.NoError(w.t, e.bond.Configure(w.now, config, classes, &e.out)) })
	}
}

func (w *world) at(d time.Duration, do func()) {
	w.order++
	heap.Push(&w.events, event{w.start.Add(d), w.order, do})
}

func (w *world) after(d time.Duration, do func()) { w.at(w.elapsed()+d, do) }

func (w *world) elapsed() time.Duration { return w.now.Sub(w.start) }

// run lets time pass.
func (w *world) run(d time.Duration) {
	until := w.now.Add(d)
	for len(w.events) > 0 && !w.events[0].at.After(until) {
		next := heap.Pop(&w.events).(event)
		w.now = next.at
		next.do()
	}
	w.now = until
}

// cut stops or restores the directions of a link: 0 is what end 0 sends.
func (w *world) cut(name string, cut bool, directions ...int) {
	for _, from := range directions {
		w.wires[wireKey{name, from}].cut = cut
	}
}

func (w *world) wire(name string, from int) *wire { return w.wires[wireKey{name, from}] }

func (w *world) both(name string, f func(*wire)) {
	f(w.wire(name, 0))
	f(w.wire(name, 1))
}

// stream has an end send numbered frames of a size at an interval.
func (w *world) stream(from, count, size int, every time.Duration) {
	w.flow(from, count, size, every, -1, 0)
}

func (w *world) flow(from, count, size int, every time.Duration, class int, flow uint32) {
	frame := make([]byte, size)
	var step func()
	step = func() {
		if count--; count < 0 {
			return
		}
		e := w.ends[from]
		e.sent++
		number := e.sent
		e.do(func() {
			binary.BigEndian.PutUint64(frame, number)
			binary.BigEndian.PutUint32(frame[8:], flow)
			e.bond.Send(w.now, frame, class, flow, &e.out)
		})
		w.after(every, step)
	}
	w.after(0, step)
}

// stall freezes an end: what arrives is read afterwards, in an arbitrary
// order, and after the timers fired.
func (w *world) stall(i int, d time.Duration) {
	e := w.ends[i]
	e.stalled = w.now.Add(d)
	w.after(d, func() {
		pending := e.inbox
		e.inbox = nil
		if !e.ticking.IsZero() && !e.ticking.After(w.now) {
			e.tick()
		}
		w.rng.Shuffle(len(pending), func(i, j int) { pending[i], pending[j] = pending[j], pending[i] })
		for k, do := range pending { // one every 50 µs
			w.after(time.Duration(k)*50*time.Microsecond, do)
		}
	})
}

// deafen has an end read nothing for a while, though its timers fire. Then it
// reads one link after the other, with pauses between them.
func (w *world) deafen(i int, d time.Duration, pause time.Duration) {
	e := w.ends[i]
	e.deaf = map[string][]func(){}
	w.after(d, func() {
		pending := e.deaf
		e.deaf = nil
		for k, n := range w.rng.Perm(len(w.links)) {
			w.after(time.Duration(k)*pause, func() {
				for _, do := range pending[w.links[n].Name] {
					e.do(do)
				}
			})
		}
	})
}

// do runs f, unless the end is stalled, and does what the bond wants.
func (e *end) do(f func()) {
	if e.world.now.Before(e.stalled) {
		e.inbox = append(e.inbox, func() { e.do(f) })
		return
	}
	f()
	e.flush()
}

func (e *end) tick() {
	e.ticking = time.Time{}
	e.bond.Tick(e.world.now, &e.out)
	if next := e.bond.Next(); !next.IsZero() {
		require.True(e.world.t, next.After(e.world.now), "a tick asks for another one at once")
	}
	e.flush()
}

func (e *end) flush() {
	w := e.world
	for _, packet := range e.out.Packets {
		w.carry(e, packet)
	}
	for _, frame := range e.out.Frames {
		if len(frame) >= 8 {
			e.got = append(e.got, arrival{binary.BigEndian.Uint64(frame), w.elapsed()})
		}
		if e.answered != nil {
			e.answered(frame)
		}
	}
	e.events = append(e.events, e.out.Events...)
	e.out.Reset()
	e.plan()
}

// plan makes sure of the tick that the bond wants.
func (e *end) plan() {
	next := e.bond.Next()
	if next.IsZero() || (!e.ticking.IsZero() && !next.Before(e.ticking)) {
		return
	}
	e.ticking = next
	if next.Before(e.world.now) {
		next = e.world.now
	}
	bond := e.bond
	e.world.at(next.Sub(e.world.start), func() {
		if e.bond != bond || e.ticking.IsZero() || e.world.now.Before(e.ticking) || e.world.now.Before(e.stalled) {
			return
		}
		e.tick()
	})
}

func (w *world) carry(from *end, next packet.Packet) {
	name := ""
	for _, link := range w.links {
		if id, ok := from.bond.LinkID(link.Name); ok && id == next.Link {
			name = link.Name
		}
	}
	wire := w.wires[wireKey{name, from.index}]
	wire.bytes += len(next.Data())
	wire.longest = max(wire.longest, len(next.Data()))
	if wire.old {
		forget(w.t, next.Data())
	}
	if wire.cut || (wire.narrow > 0 && len(next.Data()) > wire.narrow) || w.rng.Float64() < wire.loss {
		next.Buffer.Release()
		return
	}
	to := w.ends[1-from.index]
	if latest := w.latest[name]; from.index == 0 && latest != nil {
		to = latest
	}
	copies := 1
	if w.rng.Float64() < wire.twice {
		copies = 2
	}
	for range copies {
		at := w.now.Add(wire.delay)
		if wire.jitter > 0 {
			at = at.Add(time.Duration(w.rng.Int64N(int64(2*wire.jitter))) - wire.jitter)
		}
		if !wire.unordered && at.Before(wire.last) {
			at = wire.last
		}
		wire.last = at
		w.at(at.Sub(w.start), func() {
			last := copies == 1
			copies--
			receive := func() {
				if w.latest != nil && from.index == 1 {
					w.latest[name] = from // a tunnel answers to where it heard from last
				}
				if id, ok := to.bond.LinkID(name); ok && !wire.cut {
					to.bond.Receive(w.now, id, next.Data(), &to.out)
					to.flush() // before the buffer is used again
				}
				if last {
					next.Buffer.Release()
				}
			}
			if to.deaf != nil {
				to.deaf[name] = append(to.deaf[name], receive)
				return
			}
			to.do(receive)
		})
	}
}

// forget has a probe end where earlier releases end it, but for zeros.
func forget(t *testing.T, data []byte) {
	h, ok := packet.ParseHeader(data)
	require.True(t, ok)
	var probe packet.Probe
	if h.Kind != packet.TypeProbe || !probe.Parse(data[packet.HeaderSize:]) {
		return
	}
	probe.Sized = false
	clear(data[len(probe.Append(nil, h)):])
}

// settle waits until all links are up, and forgets what happened until then.
func (w *world) settle() {
	w.run(3 * time.Second)
	for _, e := range w.ends {
		for _, link := range e.bond.Status(w.now).Links {
			if link.State != status.Disabled {
				require.Equal(w.t, status.Up, link.State, link.Name)
			}
		}
		e.events, e.got = nil, nil
	}
}

// switches counts the failovers and returns of an end.
func (e *end) switches() int {
	n := 0
	for _, event := range e.events {
		if event.Type == "failover" || event.Type == "return" {
			n++
		}
	}
	return n
}

func (e *end) counters() status.Counters { return e.bond.Status(e.world.now).Counters }

func (e *end) active() string { return e.bond.Status(e.world.now).ActiveLink }

// lost counts the frames of 1 to sent that never came, and asserts that none
// came twice.
func (e *end) lost(sent uint64) int {
	seen := make(map[uint64]bool, len(e.got))
	for _, a := range e.got {
		require.False(e.world.t, seen[a.number], "frame %d came twice", a.number)
		seen[a.number] = true
	}
	missing := 0
	for n := uint64(1); n <= sent; n++ {
		if !seen[n] {
			missing++
		}
	}
	return missing
}

// disorder counts the frames that came after later ones.
func (e *end) disorder() int {
	highest, late := uint64(0), 0
	for _, a := range e.got {
		if a.number < highest {
			late++
		}
		highest = max(highest, a.number)
	}
	return late
}

// gap returns the longest time without a frame.
func (e *end) gap() time.Duration {
	longest := time.Duration(0)
	for i := 1; i < len(e.got); i++ {
		longest = max(longest, e.got[i].at-e.got[i-1].at)
	}
	return longest
}
