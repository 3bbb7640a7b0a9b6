package balance

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// Outcome is the outcome of a request to a peer, as far as it says something of
// the peer's health.
type Outcome int

const (
	// Answered means that there was an answer with a status.
	Answered Outcome = iota
	// Unreachable means that the connection failed or broke.
	Unreachable
	// TimedOut means that the peer did not answer in time.
	TimedOut
)

// Peer is a target. It starts healthy, and is safe for concurrent use.
type Peer struct {
	// Address is the host and port to dial, Host the host alone.
	Address, Host string

	onHTTP, onHTTPS string // Host header by scheme

	active    atomic.Int64 // requests in flight
	unhealthy atomic.Bool

	mu     sync.Mutex
	counts counts
}

// counts are the events since the last one of the other sort.
type counts struct{ successes, httpFailures, tcpFailures, timeouts int }

// NewPeer creates a peer that is in no pool.
func NewPeer(address, host string) *Peer {
	p := &Peer{Address: address, Host: host, onHTTP: address, onHTTPS: address}
	short, port := strings.TrimSuffix(address, ":80"), ":80"
	if short == address {
		short, port = strings.TrimSuffix(address, ":443"), ":443"
	}
	switch {
	case short == address:
	case port == ":80":
		p.onHTTP = short
	default:
		p.onHTTPS = short
	}
	return p
}

// HostHeader is the Host header of requests to the peer over a scheme: the
// address, without the scheme's own port.
func (p *Peer) HostHeader(scheme string) string {
	if scheme == "https" {
		return p.onHTTPS
	}
	return p.onHTTP
}

// Healthy reports whether the peer gets requests.
func (p *Peer) Healthy() bool { return !p.unhealthy.Load() }

// SetHealth sets the peer healthy or not, and drops what was counted.
func (p *Peer) SetHealth(healthy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts = counts{}
	p.unhealthy.Store(!healthy)
}

// Begin counts a request in flight, End counts it out.
func (p *Peer) Begin() { p.active.Add(1) }

// End counts a request out that Begin has counted.
func (p *Peer) End() { p.active.Add(-1) }

// Active is the number of requests that are in flight.
func (p *Peer) Active() int64 { return p.active.Load() }

// Report counts an event by two rules, and changes the peer's health when one of
// their bounds is reached. It returns whether the health has changed.
func (p *Peer) Report(healthy, unhealthy *entity.Verdict, outcome Outcome, status int) bool {
	success := outcome == Answered && slices.Contains(healthy.HTTPStatuses, status)
	failure := outcome != Answered || slices.Contains(unhealthy.HTTPStatuses, status)
	if !success && !failure {
		return false
	}
	if success && healthy.Successes == 0 && unhealthy.HTTPFailures|unhealthy.TCPFailures|unhealthy.Timeouts == 0 {
		return false // nothing is counted
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.unhealthy.Load()
	if success {
		p.counts = counts{successes: p.counts.successes + 1}
		if was && reached(p.counts.successes, healthy.Successes) {
			p.unhealthy.Store(false)
			p.counts = counts{}
		}
		return was != p.unhealthy.Load()
	}
	p.counts.successes = 0
	count, bound := &p.counts.httpFailures, unhealthy.HTTPFailures
	switch outcome {
	case Unreachable:
		count, bound = &p.counts.tcpFailures, unhealthy.TCPFailures
	case TimedOut:
		count, bound = &p.counts.timeouts, unhealthy.Timeouts
	}
	*count++
	if !was && reached(*count, bound) {
		p.unhealthy.Store(true)
		p.counts = counts{}
	}
	return was != p.unhealthy.Load()
}

func reached(count, bound int) bool { return bound > 0 && count >= bound }
