package secagg

import (
	"crypto/rand"
	"encoding/binary"
	"slices"
)

// ring places clients on a ring in a random order and returns each client's
// neighbours, itself included, in ascending order: those at most half of shares
// away on either side (Bell and others 2020, section 3.2, with Flower's graph).
// Neighbours are mutual.
func ring(clients []uint64, shares int) map[uint64][]uint64 {
	order := slices.Clone(clients)
	for i := len(order) - 1; i > 0; i-- {
		j := draw(uint64(i + 1))
		order[i], order[j] = order[j], order[i]
	}
	neighbours := make(map[uint64][]uint64, len(order))
	if shares >= len(order) {
		for _, id := range order {
			neighbours[id] = clients
		}
		return neighbours
	}
	for i, id := range order {
		near := make([]uint64, 0, shares)
		for offset := -shares / 2; offset <= shares/2; offset++ {
			near = append(near, order[(i+offset+len(order))%len(order)])
		}
		slices.Sort(near)
		neighbours[id] = near
	}
	return neighbours
}

// draw returns a random number below n.
func draw(n uint64) uint64 {
	var data [8]byte
	for {
		rand.Read(data[:]) // never fails
		r := binary.LittleEndian.Uint64(data[:])
		if rest := r % n; r-rest <= -n { // -n is 2^64-n: the last whole group of n ends at or before
			return rest
		}
	}
}
