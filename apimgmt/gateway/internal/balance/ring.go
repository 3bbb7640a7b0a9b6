package balance

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"sort"
	"strconv"
)

// point is a place on the ring that belongs to a peer.
type point struct {
	hash uint64
	peer *Peer
}

const (
	pointsOfHundred = 160     // points of a member of weight 100
	maxPoints       = 1 << 16 // of a ring
)

// newRing puts each member on the ring at places that depend on nothing but its
// address, as many as its weight says: another member more or less moves
// only the keys that it gets or had.
func newRing(members []member) []point {
	total := 0
	for _, m := range members {
		total += m.weight*pointsOfHundred/100 + 1
	}
	shrink := max(1, (total+maxPoints-1)/maxPoints)
	var ring []point
	for _, m := range members {
		for i := range max(1, m.weight*pointsOfHundred/100/shrink) {
			sum := sha256.Sum256([]byte(m.peer.Address + "#" + strconv.Itoa(i)))
			ring = append(ring, point{binary.BigEndian.Uint64(sum[:]), m.peer})
		}
	}
	slices.SortFunc(ring, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.peer.Address, b.peer.Address))
	})
	return ring
}

// Hash returns the place on the ring of a key. It is the same in every process.
func Hash(key string) uint64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(key)) // never fails
	h := sum.Sum64()
	// Similar keys differ in few bits of FNV; spread them (the finaliser of
	// MurmurHash3).
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

func (p *Pool) onRing(hash uint64, tried []*Peer) *Peer {
	start := sort.Search(len(p.ring), func(i int) bool { return p.ring[i].hash >= hash })
	for i := range p.ring {
		if peer := p.ring[(start+i)%len(p.ring)].peer; usable(peer, tried) {
			return peer
		}
	}
	return nil
}
