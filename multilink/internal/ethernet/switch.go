package ethernet

import (
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
//     address from a peer at once. Between peers an address moves at once, as
//     roaming stations do, and then stays for a second.
//   - A peer has up to 1,024 addresses, the local port 8,192. Further ones are
//     served, but not learned: they cost others nothing but floods.
//
// It is safe for use by several goroutines. Lookups do not wait for one another.
type Switch struct {
	isolate bool
	start   time.Time
	ports   atomic.Pointer[switchPorts]
	shards  [16]switchShard
	swept   atomic.Int64 // when the table was last swept
	refused atomic.Uint64

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
	switchHold    = time.Second
	switchSweep   = time.Second // between two looks for addresses to forget
	peerAddresses = 1024
	hostAddresses = 8192
)

// switchPorts are the ports at one time.
type switchPorts struct {
	list []Port
	room map[Port]*atomic.Int32 // how many addresses each may still learn
}

type switchShard struct {
	mu    sync.RWMutex
	known map[uint64]*switchEntry
}

// switchEntry is where an address lives. The port changes under the shard's
// lock alone.
type switchEntry struct {
	port  Port
	seen  atomic.Int64 // since the start, in nanoseconds
	moved int64
}

// NewSwitch makes a switch with the local port alone. The options may be nil.
func NewSwitch(options *SwitchOptions) *Switch {
	if options == nil {
		options = &SwitchOptions{}
	}
	s := &Switch{isolate: options.Isolate, start: time.Now()}
	for i := range s.shards {
		s.shards[i].known = map[uint64]*switchEntry{}
	}
	local := &atomic.Int32{}
	local.Store(hostAddresses)
	s.ports.Store(&switchPorts{list: []Port{LocalPort}, room: map[Port]*atomic.Int32{LocalPort: local}})
	return s
}

// Add makes a port for a peer.
func (s *Switch) Add() Port {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	room := &atomic.Int32{}
	room.Store(peerAddresses)
	old := s.ports.Load()
	next := &switchPorts{room: map[Port]*atomic.Int32{s.last: room}}
	for _, port := range old.list {
		next.room[port] = old.room[port]
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
	next := &switchPorts{room: map[Port]*atomic.Int32{}}
	for _, other := range old.list {
		if other != port {
			next.list = append(next.list, other)
			next.room[other] = old.room[other]
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
			if port != from && ports.room[port] != nil && s.allowed(from, port) {
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

// Stats are the figures up to now.
func (s *Switch) Stats() SwitchStats {
	stats := SwitchStats{Refused: s.refused.Load()}
	for i := range s.shards {
		s.shards[i].mu.RLock()
		stats.Addresses += len(s.shards[i].known)
		s.shards[i].mu.RUnlock()
	}
	return stats
}

func (s *Switch) allowed(from, to Port) bool {
	return !s.isolate || from == LocalPort || to == LocalPort
}

func (s *Switch) find(key uint64, now int64) (Port, bool) {
	shard := s.shard(key)
	shard.mu.RLock()
	defer shard.mu.RUnlock()
	e := shard.known[key]
	if e == nil || e.aged(now) {
		return 0, false
	}
	return e.port, true
}

func (s *Switch) learn(ports *switchPorts, from Port, frame []byte, now int64) bool {
	if len(frame) < 14 || ports.room[from] == nil || multicast(frame[6:12]) || linkLocal(frame[:6]) {
		return false
	}
	key := addressKey(frame[6:12], frame)
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
		s.forget(func(e *switchEntry) bool { return e.aged(now) })
	}
	shard.mu.Lock()
	defer shard.mu.Unlock()
	// Remove publishes its ports before it looks for entries to forget: what
	// is learned from here on is of a port that there is.
	ports := s.ports.Load()
	room := ports.room[from]
	if room == nil {
		return false
	}
	e := shard.known[key]
	if e != nil && e.port != from && !e.aged(now) {
		if e.port == LocalPort || from != LocalPort && now-e.moved < int64(switchHold) {
			s.refused.Add(1)
			return false
		}
	}
	if e != nil && e.port == from {
		e.seen.Store(now)
		return true
	}
	next := &switchEntry{port: from, moved: now - int64(switchHold)}
	next.seen.Store(now)
	if e != nil {
		next.moved = now
		releaseSlot(ports, e)
		delete(shard.known, key)
	}
	if takeSlot(room) {
		shard.known[key] = next
	}
	return true // without room it is served, but not known
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
	if room := ports.room[e.port]; room != nil {
		room.Add(1)
	}
}

// addressKey is an address and the VLAN of the frame's outer tag, 0 without.
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
