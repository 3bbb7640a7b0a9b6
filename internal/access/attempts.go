package access

import (
	"container/list"
	"net/netip"
	"sync"
	"time"

	"github.com/iotenablers/enablers/internal/clientaddr"
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

// Attempts slows failed attempts down, by address. After ten of them in a row an address has to
// wait a second before each further one. Credentials that it has used with success lately need
// not wait. IPv6 addresses of one network of 64 bits count as one. It is created with
// [NewAttempts] and safe for concurrent use.
type Attempts struct {
	clock func() time.Time

	mu     sync.Mutex
	known  map[netip.Addr]*list.Element // of *attempter, by clientaddr.Of
	recent list.List                    // the latest first
}

// attempter is an address.
type attempter struct {
	client   netip.Addr
	failures float64 // that are not forgiven yet
	at       time.Time
	good     map[digest]struct{} // credentials that were valid
}

// NewAttempts returns a record without failures.
func NewAttempts() *Attempts {
	return &Attempts{clock: time.Now, known: map[netip.Addr]*list.Element{}}
}

// Wait returns how long a caller at the remote address, host:port, has to wait before the
// credential is checked; zero or less means not at all.
func (a *Attempts) Wait(remote, credential string) time.Duration {
	sum := digestCredential(credential)
	a.mu.Lock()
	defer a.mu.Unlock()
	element, ok := a.known[clientaddr.OfRemote(remote)]
	if !ok {
		return 0
	}
	one := element.Value.(*attempter)
	if _, good := one.good[sum]; good {
		return 0
	}
	one.forgive(a.clock())
	excess := one.failures - (freeFailures - 1)
	return time.Duration(excess * float64(failureInterval))
}

// Failed counts a failed attempt from the remote address.
func (a *Attempts) Failed(remote string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.seenLocked(clientaddr.OfRemote(remote))
	one.forgive(a.clock())
	one.failures = min(one.failures+1, freeFailures+mostExcess)
}

// Succeeded remembers a valid credential of the remote address.
func (a *Attempts) Succeeded(remote, credential string) {
	sum := digestCredential(credential)
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.seenLocked(clientaddr.OfRemote(remote))
	if _, ok := one.good[sum]; ok {
		return
	}
	if len(one.good) >= mostCredentials {
		clear(one.good)
	}
	one.good[sum] = struct{}{}
}

// seenLocked returns the record of an address, as the latest one.
func (a *Attempts) seenLocked(client netip.Addr) *attempter {
	if element, ok := a.known[client]; ok {
		a.recent.MoveToFront(element)
		return element.Value.(*attempter)
	}
	if len(a.known) >= mostAddresses {
		last := a.recent.Back()
		delete(a.known, a.recent.Remove(last).(*attempter).client)
	}
	one := &attempter{client: client, at: a.clock(), good: map[digest]struct{}{}}
	a.known[client] = a.recent.PushFront(one)
	return one
}

// forgive reduces the failures by the time that has passed.
func (o *attempter) forgive(now time.Time) {
	if passed := now.Sub(o.at); passed > 0 {
		o.failures = max(0, o.failures-passed.Seconds()/failureInterval.Seconds())
	}
	o.at = now
}
