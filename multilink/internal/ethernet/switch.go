package ethernet

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Switch is a learning layer-2 switch with a port for each peer and one for
// this host, in the manner of IEEE 802.1Q with independent learning: an
// address lives behind a port in one VLAN.
//
//   - A frame goes to the port of its destination; broadcasts, multicasts and
//     frames to unknown addresses go to all. None goes back to its own port, and
//     none to the addresses that 802.1Q reserves for the link.
//   - An address is forgotten 300 seconds after its last frame, or with its
//     port.
//   - Addresses of the local port belong to it as long as they are known: frames
//     of a peer from one of them are dropped. The local port takes an
//     address from a peer at once.
//   - An address of a peer moves to another peer, as that of a station that roams,
//     once the first has not sent from it for a second. Until then frames of the
//     others from it are dropped, or any of them could draw its traffic. Where
//     peers are isolated no peer may claim the addresses of IP that are assigned to
//     another one, and an Ethernet address never moves: it belongs to its peer until the port is
//     removed, or the peer is silent about it and needs the room for another one.
//   - A peer has up to 1,024 addresses, the local port 8,192. Further ones are
//     served, but not learned: they cost others nothing but floods.
//
// It is safe for use by several goroutines. Lookups do not wait for one another.
type Switch struct {
	isolate bool
	claimed func(Claim)
	start   time.Time
	ports   atomic.Pointer[switchPorts]
	shards  [16]switchShard
	swept   atomic.Int64 // when the table was last swept
	refused atomic.Uint64

	assigned atomic.Pointer[map[netip.Addr]Port]

	mu   sync.Mutex // held by Add and Remove
	last Port
}

// Port is a port of a Switch. Numbers are not used again.
type Port int

// LocalPort is the port of this host.
const LocalPort Port = 0

// SwitchOptions say how a Switch behaves. The zero value is the default.
type SwitchOptions struct {
	// Isolate keeps frames of peers from other peers: they reach the local
	// port alone.
	Isolate bool
	// Claimed is called when a peer sends from an address of another port: at
	// most every ten seconds for each peer and outcome. It is called by Learn and
	// Forward, without a lock. Nil means never.
	Claimed func(Claim)
}

// Claim is what a peer did with a frame whose source is an address of another port.
type Claim struct {
	Address     [6]byte
	VLAN        uint16
	IP          netip.Addr // that the frame claims, where the Ethernet address is its own
	From, Owner Port
	// Moved is true where the address belongs to From now, because Owner was
	// silent about it. Otherwise the frame was dropped.
	Moved bool
}

// SwitchStats are the figures of a Switch.
type SwitchStats struct {
	// Addresses that are known.
	Addresses int
	// Refused frames came from an address of another port.
	Refused uint64
}

const (
	switchAgeing  = 300 * time.Second // IEEE 802.1Q, table 8-9
	switchSilence = time.Second       // of a peer, before its address may move to another one
	switchSweep   = time.Second       // between two looks for addresses to forget
	switchClaim   = 10 * time.Second  // between two reports of one peer's claims
	peerAddresses = 1024
	hostAddresses = 8192
)

// switchPorts are the ports at one time.
type switchPorts struct {
	list []Port
	by   map[Port]*switchPort
}

type switchPort struct {
	room    atomic.Int32    // how many addresses it may still learn
	refused atomic.Uint64   // frames from addresses of other ports
	claims  [2]atomic.Int64 // when the last claim was reported, refused or moved; 0 is never
}

func newSwitchPort(room int32) *switchPort {
	p := &switchPort{}
	p.room.Store(room)
	return p
}

type switchShard struct {
	mu    sync.RWMutex
	known map[uint64]*switchEntry
}

// switchEntry is where an address lives. The port changes under the shard's
// lock alone.
type switchEntry struct {
	port Port
	seen atomic.Int64 // since the start, in nanoseconds
}

// NewSwitch creates a switch with the local port alone. The options may be nil.
func NewSwitch(options *SwitchOptions) *Switch {
	if options == nil {
		options = &SwitchOptions{}
	}
	s := &Switch{isolate: options.Isolate, claimed: options.Claimed, start: time.Now()}
	for i := range s.shards {
		s.shards[i].known = map[uint64]*switchEntry{}
	}
	s.ports.Store(&switchPorts{list: []Port{LocalPort}, by: map[Port]*switchPort{LocalPort: newSwitchPort(hostAddresses)}})
	return s
}

// Add creates a port for a peer.
func (s *Switch) Add() Port {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	old := s.ports.Load()
	next := &switchPorts{by: map[Port]*switchPort{s.last: newSwitchPort(peerAddresses)}}
	for _, port := range old.list {
		next.by[port] = old.by[port]
	}
	next.list = append(append(next.list, old.list...), s.last)
	s.ports.Store(next)
	return s.last
}

// Remove takes a peer's port away and forgets its addresses. Once it returns,
// no frame goes there, and none that comes from there goes anywhere. The local
// port stays.
func (s *Switch) Remove(port Port) {
	if port == LocalPort {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.ports.Load()
	next := &switchPorts{by: map[Port]*switchPort{}}
	for _, other := range old.list {
		if other != port {
			next.list = append(next.list, other)
			next.by[other] = old.by[other]
		}
	}
	s.ports.Store(next)
	s.forget(func(e *switchEntry) bool { return e.port == port })
}

// Learn notes where the source of a frame lives, and reports whether the frame
// may pass: it is long enough, from a port that there is, and from an address
// that this port may use.
func (s *Switch) Learn(from Port, frame []byte) bool {
	return s.learn(s.ports.Load(), from, frame, int64(time.Since(s.start)))
}

// Forward learns from a frame and appends the ports that it goes to: none where
// it may not pass.
func (s *Switch) Forward(to []Port, from Port, frame []byte) []Port {
	ports, now := s.ports.Load(), int64(time.Since(s.start))
	if !s.learn(ports, from, frame, now) {
		return to
	}
	if !multicast(frame[:6]) {
		if port, known := s.find(addressKey(frame[:6], frame), now); known {
			if port != from && ports.by[port] != nil && s.allowed(from, port) {
				to = append(to, port)
			}
			return to
		}
	}
	for _, port := range ports.list {
		if port != from && s.allowed(from, port) {
			to = append(to, port)
		}
	}
	return to
}

// Stats returns the figures up to now.
func (s *Switch) Stats() SwitchStats {
	stats := SwitchStats{Refused: s.refused.Load()}
	for i := range s.shards {
		s.shards[i].mu.RLock()
		stats.Addresses += len(s.shards[i].known)
		s.shards[i].mu.RUnlock()
	}
	return stats
}

// Refused returns how many frames of a port came from addresses of other ports. It is 0
// for a port that was removed.
func (s *Switch) Refused(port Port) uint64 {
	if p := s.ports.Load().by[port]; p != nil {
		return p.refused.Load()
	}
	return 0
}

func (s *Switch) allowed(from, to Port) bool {
	return !s.isolate || from == LocalPort || to == LocalPort
}

func (s *Switch) find(key uint64, now int64) (Port, bool) {
	shard := s.shard(key)
	shard.mu.RLock()
	defer shard.mu.RUnlock()
	e := shard.known[key]
	if e == nil || (e.aged(now) && !s.belongs(e)) {
		return 0, false
	}
	return e.port, true
}

func (s *Switch) learn(ports *switchPorts, from Port, frame []byte, now int64) bool {
	if len(frame) < 14 || ports.by[from] == nil || multicast(frame[6:12]) || linkLocal(frame[:6]) {
		return false
	}
	key := addressKey(frame[6:12], frame)
	if owner, ip, found := s.impostor(from, frame); found {
		s.refuse(ports.by[from])
		s.report(key, ip, from, owner, false, now)
		return false
	}
	shard := s.shard(key)
	shard.mu.RLock()
	e := shard.known[key]
	same := e != nil && e.port == from
	if same {
		e.seen.Store(now)
	}
	shard.mu.RUnlock()
	return same || s.settle(shard, key, from, now)
}

// settle notes an address that is new, or at another port than before.
func (s *Switch) settle(shard *switchShard, key uint64, from Port, now int64) bool {
	if last := s.swept.Load(); now-last > int64(switchSweep) && s.swept.CompareAndSwap(last, now) {
		s.sweep(now)
	}
	owner, passes := s.place(shard, key, from, now)
	if owner != from {
		s.report(key, netip.Addr{}, from, owner, passes, now)
	}
	return passes
}

// place gives an address to a port where no other port keeps it. It returns the port
// that had the address: from where none had.
func (s *Switch) place(shard *switchShard, key uint64, from Port, now int64) (owner Port, passes bool) {
	shard.mu.Lock()
	defer shard.mu.Unlock()
	// Remove publishes its ports before it looks for entries to forget: what
	// is learned from here on is of a port that there is.
	ports := s.ports.Load()
	port := ports.by[from]
	if port == nil {
		return from, false
	}
	owner = from
	if e := shard.known[key]; e != nil {
		if e.port == from {
			e.seen.Store(now)
			return from, true
		}
		if s.keeps(e, from, now) {
			s.refuse(port)
			return e.port, false
		}
		if !e.aged(now) && from != LocalPort {
			owner = e.port
		}
		releaseSlot(ports, e)
		delete(shard.known, key)
	}
	if takeSlot(&port.room) {
		e := &switchEntry{port: from}
		e.seen.Store(now)
		shard.known[key] = e
	}
	return owner, true // without room it is served, but not known
}

// keeps reports whether the port of an entry keeps its address from another port.
func (s *Switch) keeps(e *switchEntry, from Port, now int64) bool {
	switch {
	case e.port == LocalPort:
		return !e.aged(now)
	case from == LocalPort:
		return false
	}
	return s.isolate || now-e.seen.Load() < int64(switchSilence)
}

// belongs reports whether an entry outlasts the silence of its port.
func (s *Switch) belongs(e *switchEntry) bool { return s.isolate && e.port != LocalPort }

// refuse counts a frame that is dropped for its address.
func (s *Switch) refuse(port *switchPort) {
	port.refused.Add(1)
	s.refused.Add(1)
}

// report reports a claim, unless one of that port was reported lately.
func (s *Switch) report(key uint64, ip netip.Addr, from, owner Port, moved bool, now int64) {
	port := s.ports.Load().by[from]
	if s.claimed == nil || port == nil {
		return
	}
	stamp := &port.claims[0]
	if moved {
		stamp = &port.claims[1]
	}
	last := stamp.Load()
	if (last != 0 && now-last < int64(switchClaim)) || !stamp.CompareAndSwap(last, max(now, 1)) {
		return
	}
	c := Claim{VLAN: uint16(key & 0xfff), IP: ip, From: from, Owner: owner, Moved: moved}
	for i := range c.Address {
		c.Address[i] = byte(key >> (12 + 8*(5-i)))
	}
	s.claimed(c)
}

// sweep forgets the addresses that were silent for long. Those of isolated peers stay
// until their peer has no room for another one.
func (s *Switch) sweep(now int64) {
	full := map[Port]bool{}
	for port, p := range s.ports.Load().by {
		full[port] = p.room.Load() <= 0
	}
	s.forget(func(e *switchEntry) bool { return e.aged(now) && (!s.belongs(e) || full[e.port]) })
}

// forget deletes the entries for which f is true.
func (s *Switch) forget(f func(*switchEntry) bool) {
	ports := s.ports.Load()
	for i := range s.shards {
		shard := &s.shards[i]
		shard.mu.Lock()
		for key, e := range shard.known {
			if f(e) {
				releaseSlot(ports, e)
				delete(shard.known, key)
			}
		}
		shard.mu.Unlock()
	}
}

func (s *Switch) shard(key uint64) *switchShard {
	return &s.shards[key*0x9e3779b97f4a7c15>>60]
}

func (e *switchEntry) aged(now int64) bool { return now-e.seen.Load() > int64(switchAgeing) }

// takeSlot takes room for an address, if there is any.
func takeSlot(room *atomic.Int32) bool {
	for {
		left := room.Load()
		if left <= 0 {
			return false
		}
		if room.CompareAndSwap(left, left-1) {
			return true
		}
	}
}

func releaseSlot(ports *switchPorts, e *switchEntry) {
	if port := ports.by[e.port]; port != nil {
		port.room.Add(1)
	}
}

// addressKey returns an address and the VLAN of the frame's outer tag, 0 without.
func addressKey(address, frame []byte) uint64 {
	key := uint64(address[0])<<40 | uint64(address[1])<<32 | uint64(address[2])<<24 |
		uint64(address[3])<<16 | uint64(address[4])<<8 | uint64(address[5])
	key <<= 12
	if len(frame) >= 16 && isTag(uint16(frame[12])<<8|uint16(frame[13])) {
		key |= uint64(frame[14]&0x0f)<<8 | uint64(frame[15])
	}
	return key
}

func multicast(address []byte) bool { return address[0]&1 != 0 }

// linkLocal reports whether an address is one of those that no bridge passes
// on: 01-80-C2-00-00-00 to -0F, IEEE 802.1Q table 8-1.
func linkLocal(address []byte) bool {
	return [5]byte(address) == [5]byte{0x01, 0x80, 0xc2, 0, 0} && address[5]&0xf0 == 0
}
