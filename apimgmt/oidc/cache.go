package oidc

import (
	"container/list"
	"crypto/sha256"
	"sync"
	"time"
)

// digest names a token in a cache, which so never holds the token itself.
type digest [sha256.Size]byte

func tokenDigest(token string) digest { return sha256.Sum256([]byte(token)) }

// shards of a cache spread the lock. A digest's first byte chooses one.
const shards = 16

// remembered is what is known of a token.
type remembered struct {
	claims *Claims   // nil for a token that is not active
	keys   *keySet   // that verified it, nil for an answer of introspection
	until  time.Time // when it is dropped
}

// cache keeps tokens, those used last, within bounds. The zero number of
// entries means none. It is safe for concurrent use.
type cache struct {
	parts   [shards]part
	entries int // bounds of one part
	bytes   int
}

type part struct {
	mu    sync.Mutex
	known map[digest]*list.Element
	order list.List // of *entry, the one used last in front
	bytes int
}

type entry struct {
	of   digest
	what remembered
	cost int
}

// overhead is about what an entry takes besides what the token says twice: the
// text, and the parsed strings.
const overhead = 600

func newCache(entries, bytes int) *cache {
	c := &cache{entries: (entries + shards - 1) / shards, bytes: bytes / shards}
	for i := range c.parts {
		c.parts[i].known = make(map[digest]*list.Element)
	}
	return c
}

func (c *cache) get(of digest, now time.Time) (remembered, bool) {
	p := &c.parts[of[0]%shards]
	p.mu.Lock()
	defer p.mu.Unlock()
	element, ok := p.known[of]
	if !ok {
		return remembered{}, false
	}
	found := element.Value.(*entry)
	if !now.Before(found.what.until) {
		p.remove(element)
		return remembered{}, false
	}
	p.order.MoveToFront(element)
	return found.what, true
}

func (c *cache) put(of digest, what remembered) {
	added := &entry{of: of, what: what, cost: overhead}
	if what.claims != nil {
		added.cost += 2 * len(what.claims.Raw)
	}
	if c.entries == 0 || added.cost > c.bytes {
		return
	}
	p := &c.parts[of[0]%shards]
	p.mu.Lock()
	defer p.mu.Unlock()
	if old, ok := p.known[of]; ok {
		p.remove(old)
	}
	for p.order.Len() > 0 && (p.order.Len() >= c.entries || p.bytes+added.cost > c.bytes) {
		p.remove(p.order.Back())
	}
	p.known[of] = p.order.PushFront(added)
	p.bytes += added.cost
}

func (p *part) remove(element *list.Element) {
	gone := p.order.Remove(element).(*entry)
	delete(p.known, gone.of)
	p.bytes -= gone.cost
}

// flush drops everything.
func (c *cache) flush() {
	for i := range c.parts {
		p := &c.parts[i]
		p.mu.Lock()
		clear(p.known)
		p.order.Init()
		p.bytes = 0
		p.mu.Unlock()
	}
}
