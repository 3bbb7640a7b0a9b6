// Package balance spreads requests over the targets of an upstream, and keeps
// account of which targets are healthy.
package balance

import (
	"fmt"
	"math"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// Pool is an upstream with its targets. It is safe for concurrent use.
type Pool struct {
	spec    entity.Upstream
	targets []entity.Target
	members []member
	ring    []point // of consistent-hashing

	mu      sync.Mutex
	current []int // of round-robin: what each member is owed, in the order of members
	turn    atomic.Uint64
}

// member is a peer with its share.
type member struct {
	peer   *Peer
	weight int
}

// New creates a pool of the targets with a weight above zero. Peers of previous,
// which may be nil, keep their health; previous itself is returned if it is created from
// the same. Errors name the target.
func New(spec entity.Upstream, targets []entity.Target, previous *Pool) (*Pool, error) {
	if previous != nil && reflect.DeepEqual(spec, previous.spec) && reflect.DeepEqual(targets, previous.targets) {
		return previous, nil
	}
	p := &Pool{spec: spec, targets: targets}
	seen := map[string]bool{}
	for _, t := range targets {
		address, host, err := parseTarget(t.Target)
		if err != nil {
			return nil, err
		}
		weight := 100
		if t.Weight != nil {
			weight = *t.Weight
		}
		if weight < 0 || weight > 65535 {
			return nil, fmt.Errorf("target %q: weight: %d is not between 0 and 65535", t.Target, weight)
		}
		if seen[address] {
			return nil, fmt.Errorf("target %q: is there twice", t.Target)
		}
		seen[address] = true
		if weight == 0 {
			continue
		}
		peer := previous.Peer(address)
		if peer == nil {
			peer = NewPeer(address, host)
		}
		p.members = append(p.members, member{peer, weight})
	}
	p.current = make([]int, len(p.members))
	switch spec.Algorithm {
	case "", "round-robin", "least-connections":
	case "consistent-hashing":
		p.ring = newRing(p.members)
	default:
		return nil, fmt.Errorf("algorithm: %q is unknown", spec.Algorithm)
	}
	return p, nil
}

// parseTarget splits a target into the address to dial and the host name.
func parseTarget(target string) (address, host string, err error) {
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		host, port = strings.Trim(target, "[]"), "8000"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", "", fmt.Errorf("target %q: port %q is not between 1 and 65535", target, port)
	}
	if host == "" || strings.ContainsAny(host, "/@?# \t\r\n") || strings.Count(host, ":") == 1 {
		return "", "", fmt.Errorf("target %q: is not a host with a port", target)
	}
	return net.JoinHostPort(host, port), host, nil
}

// Spec returns the upstream that the pool was created from.
func (p *Pool) Spec() entity.Upstream { return p.spec }

// Peer returns the peer of an address; nil if none exists. The pool may be nil.
func (p *Pool) Peer(address string) *Peer {
	if p == nil {
		return nil
	}
	for _, m := range p.members {
		if m.peer.Address == address {
			return m.peer
		}
	}
	return nil
}

// Peers returns all peers.
func (p *Pool) Peers() []*Peer {
	peers := make([]*Peer, len(p.members))
	for i, m := range p.members {
		peers[i] = m.peer
	}
	return peers
}

// Pick returns the peer for a request, or nil if none is left that is healthy and
// was not tried, or less of the weight is healthy than the threshold. hash is that of what the upstream hashes on; it is used for
// consistent-hashing only.
func (p *Pool) Pick(hash uint64, tried []*Peer) *Peer {
	if h := p.spec.Healthchecks; h != nil && h.Threshold > 0 && p.healthyShare() < h.Threshold {
		return nil
	}
	switch p.spec.Algorithm {
	case "consistent-hashing":
		return p.onRing(hash, tried)
	case "least-connections":
		return p.leastConnections(tried)
	}
	return p.roundRobin(tried)
}

// healthyShare is the percentage of the weight that is healthy.
func (p *Pool) healthyShare() float64 {
	healthy, total := 0, 0
	for _, m := range p.members {
		total += m.weight
		if m.peer.Healthy() {
			healthy += m.weight
		}
	}
	return 100 * float64(healthy) / float64(max(total, 1))
}

func usable(peer *Peer, tried []*Peer) bool {
	return peer.Healthy() && !slices.Contains(tried, peer)
}

// roundRobin gives every member its weight and takes all weights from the one
// chosen, so that heavy members do not come in runs.
func (p *Pool) roundRobin(tried []*Peer) *Peer {
	if len(p.members) == 1 {
		if peer := p.members[0].peer; usable(peer, tried) {
			return peer
		}
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	best, total := -1, 0
	for i, m := range p.members {
		if !usable(m.peer, tried) {
			continue
		}
		p.current[i] += m.weight
		total += m.weight
		if best < 0 || p.current[i] > p.current[best] {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	p.current[best] -= total
	return p.members[best].peer
}

func (p *Pool) leastConnections(tried []*Peer) *Peer {
	var best *Peer
	least := math.Inf(1)
	if len(p.members) == 0 {
		return nil
	}
	start := int(p.turn.Add(1) % uint64(len(p.members)))
	for i := range p.members {
		m := p.members[(start+i)%len(p.members)]
		if load := float64(m.peer.active.Load()+1) / float64(m.weight); load < least && usable(m.peer, tried) {
			best, least = m.peer, load
		}
	}
	return best
}
