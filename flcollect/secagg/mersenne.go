package secagg

// stateSize is the number of words of the generator's state, and of the numbers
// between two renewals of it.
const stateSize = 624

// mersenne is the generator MT19937 (Matsumoto and Nishimura 1998), as numpy's
// RandomState seeds it with one number.
type mersenne struct {
	state [stateSize]uint32
	next  int
}

// seed begins the sequence of a seed.
func (m *mersenne) seed(seed uint32) {
	m.state[0] = seed
	for i := uint32(1); i < stateSize; i++ {
		seed = 1812433253*(seed^seed>>30) + i
		m.state[i] = seed
	}
	m.next = stateSize
}

// uint32 returns the next number.
func (m *mersenne) uint32() uint32 {
	if m.next == stateSize {
		m.renew()
		m.next = 0
	}
	y := m.state[m.next]
	m.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// uint64 returns the next two numbers as one, the first in the high half.
func (m *mersenne) uint64() uint64 {
	high := uint64(m.uint32())
	return high<<32 | uint64(m.uint32())
}

// renew computes the next words of the state from the ones before.
func (m *mersenne) renew() {
	const middle = 397
	s := &m.state
	for i := range stateSize - middle {
		s[i] = s[i+middle] ^ twist(s[i], s[i+1])
	}
	for i := stateSize - middle; i < stateSize-1; i++ {
		s[i] = s[i+middle-stateSize] ^ twist(s[i], s[i+1])
	}
	s[stateSize-1] = s[middle-1] ^ twist(s[stateSize-1], s[0])
}

func twist(u, v uint32) uint32 {
	y := u&0x80000000 | v&0x7fffffff
	return y>>1 ^ -(v&1)&0x9908b0df
}
