package access

import (
	"container/list"
	"net/netip"
	"sync"
	"time"
)

const (
	// freeFailures is how often an address may fail in a row before it is slowed down.
	freeFailures = 10
	// failureInterval is the time after which a slowed address may try once more.
	failureInterval = time.Second
	// mostExcess bounds the failures beyond, and so the seconds that an address has to wait,
	// however many attempts it makes at one time.
	mostExcess = 30
	// mostAddresses bounds the addresses that are remembered. The one that was seen
	// longest ago goes first.
	mostAddresses = 10_000
	// mostCredentials bounds the credentials that are remembered of an address.
	mostCredentials = 64
)

// attempts slows failed attempts down, by address. IPv6 addresses of one network of 64
// bits count as one, since one machine has all of them.
type attempts struct {
	clock func() time.Time

	mu     sync.Mutex
	known  map[netip.Prefix]*list.Element // of *attempter
	recent list.List                      // the latest first
}

// attempter is an address.
type attempter struct {
	network  netip.Prefix
	failures float64 // that are not forgiven yet
	at       time.Time
	good     map[digest]struct{} // credentials that were valid
}

func newAttempts(clock func() time.Time) *attempts {
	return &attempts{clock: clock, known: map[netip.Prefix]*list.Element{}}
}

// networkOf returns what an address counts as. An address that cannot be read counts as
// one with all others of that kind.
func networkOf(address string) netip.Prefix {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.Prefix{}
	}
	ip, bits := at.Addr().Unmap().WithZone(""), 64
	if ip.Is4() {
		bits = 32
	}
	network, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return network
}

// wait returns how long a caller at the address has to wait before the credential is
// checked; zero or less means not at all.
func (a *attempts) wait(network netip.Prefix, credential digest) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	element, ok := a.known[network]
	if !ok {
		return 0
	}
	one := element.Value.(*attempter)
	if _, good := one.good[credential]; good {
		return 0
	}
	one.forgive(a.clock())
	excess := one.failures - (freeFailures - 1)
	return time.Duration(excess * float64(failureInterval))
}

// failed counts a failed attempt.
func (a *attempts) failed(network netip.Prefix) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.seenLocked(network)
	one.forgive(a.clock())
	one.failures = min(one.failures+1, freeFailures+mostExcess)
}

// succeeded remembers a valid credential of the address.
func (a *attempts) succeeded(network netip.Prefix, credential digest) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.seenLocked(network)
	if _, ok := one.good[credential]; ok {
		return
	}
	if len(one.good) >= mostCredentials {
		clear(one.good)
	}
	one.good[credential] = struct{}{}
}

// seenLocked returns the record of an address, as the latest one.
func (a *attempts) seenLocked(network netip.Prefix) *attempter {
	if element, ok := a.known[network]; ok {
		a.recent.MoveToFront(element)
		return element.Value.(*attempter)
	}
	if len(a.known) >= mostAddresses {
		last := a.recent.Back()
		delete(a.known, a.recent.Remove(last).(*attempter).network)
	}
	one := &attempter{network: network, at: a.clock(), good: map[digest]struct{}{}}
	a.known[network] = a.recent.PushFront(one)
	return one
}

// forgive reduces the failures by the time that has passed.
func (o *attempter) forgive(now time.Time) {
	if passed := now.Sub(o.at); passed > 0 {
		o.failures = max(0, o.failures-passed.Seconds()/failureInterval.Seconds())
	}
	o.at = now
}
