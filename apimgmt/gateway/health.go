package gateway

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/iotenablers/enablers/apimgmt/gateway/internal/balance"
)

// TargetHealth is the state of a target.
type TargetHealth struct {
	// Target is its host and port.
	Target string `json:"target"`
	// Healthy reports whether the target gets requests.
	Healthy bool `json:"healthy"`
	// Open is the number of requests that it is answering.
	Open int64 `json:"open"`
}

// Health returns the state of the targets of an upstream that have a weight above
// zero. The error wraps ErrNotFound if there is no such upstream.
func (g *Gateway) Health(upstream string) ([]TargetHealth, error) {
	t := g.acquire()
	defer g.leave(t)
	pool := t.pools[upstream]
	if pool == nil {
		return nil, fmt.Errorf("upstream %q: %w", upstream, ErrNotFound)
	}
	var all []TargetHealth
	for _, peer := range pool.Peers() {
		all = append(all, TargetHealth{Target: peer.Address, Healthy: peer.Healthy(), Open: peer.Active()})
	}
	return all, nil
}

// SetHealth sets a target healthy or not, until checks find otherwise. The
// error wraps ErrNotFound if there is no such target.
func (g *Gateway) SetHealth(upstream, target string, healthy bool) error {
	t := g.acquire()
	defer g.leave(t)
	peer := t.pools[upstream].Peer(target)
	if peer == nil {
		return fmt.Errorf("upstream %q: target %q: %w", upstream, target, ErrNotFound)
	}
	peer.SetHealth(healthy)
	return nil
}

// healthChanged logs that a target has become healthy or unhealthy.
func (g *Gateway) healthChanged(pool *balance.Pool) func(*balance.Peer) {
	return func(peer *balance.Peer) {
		g.options.Logger.Warn("health of target changed",
			"upstream", pool.Spec().Name, "target", peer.Address, "healthy", peer.Healthy())
	}
}

// hash is the hash of what the upstream hashes on, or falls back to. A request that has
// neither may go to any target.
func (f *forwarding) hash(pool *balance.Pool) uint64 {
	x := f.x
	spec := pool.Spec()
	if spec.Algorithm != "consistent-hashing" {
		return 0
	}
	text := f.hashed(spec.HashOn, spec.HashOnHeader)
	if spec.HashOn == "cookie" {
		if cookie, err := x.request.Cookie(spec.HashOnCookie); err == nil && cookie.Value != "" {
			text = cookie.Value
		} else { // from now on the client has one
			text = x.id
			fresh := http.Cookie{Name: spec.HashOnCookie, Value: text, Path: cmp.Or(spec.HashOnCookiePath, "/")}
			x.writer.Header().Add("Set-Cookie", fresh.String())
		}
	}
	if text == "" {
		text = f.hashed(spec.HashFallback, spec.HashFallbackHeader)
	}
	return balance.Hash(cmp.Or(text, x.id))
}

// hashed is the part of the request that a hash_on names, cookies excepted.
func (f *forwarding) hashed(on, header string) string {
	x := f.x
	switch on {
	case "consumer":
		if c := x.identity.Consumer; c != nil {
			return c.ID
		}
		return x.identity.Subject
	case "header":
		return x.request.Header.Get(header)
	case "path":
		return x.path
	case "ip":
		return x.client.String()
	}
	return ""
}
