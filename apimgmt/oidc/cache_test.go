package oidc

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func newRemembered(size int, until time.Time) remembered {
	return remembered{claims: &Claims{Raw: json.RawMessage(strings.Repeat("x", size))}, until: until}
}

func TestCache_isBounded(t *testing.T) {
	now := time.Now()
	for name, bounds := range map[string]struct{ entries, bytes, size int }{
		"entries": {64, 1 << 30, 10}, "bytes": {1 << 20, 1 << 20, 4000}, "none": {0, 1 << 20, 10}, "too large": {10, 1000, 4000},
	} {
		c := newCache(bounds.entries, bounds.bytes)
		for n := range 5000 {
			c.put(tokenDigest(fmt.Sprint(n)), newRemembered(bounds.size, now.Add(time.Hour)))
		}
		entries, bytes := c.size()
		require.LessOrEqual(t, entries, bounds.entries, name)
		require.LessOrEqual(t, bytes, bounds.bytes, name)
		if name == "entries" || name == "bytes" {
			require.Greater(t, entries, 50, name)
		} else {
			require.Zero(t, entries, name)
		}
		c.flush()
		entries, bytes = c.size()
		require.Zero(t, entries+bytes)
	}
}

func TestCache_evictsTheLeastRecentlyUsed(t *testing.T) {
	now := time.Now()
	c := newCache(2*shards, 1<<20)
	var of []digest // of one shard
	for n := 0; len(of) < 3; n++ {
		if d := tokenDigest(fmt.Sprint(n)); d[0]%shards == 0 {
			of = append(of, d)
		}
	}
	c.put(of[0], newRemembered(1, now.Add(time.Hour)))
	c.put(of[1], newRemembered(1, now.Add(time.Hour)))
	_, ok := c.get(of[0], now)
	require.True(t, ok)
	c.put(of[2], newRemembered(1, now.Add(time.Minute)))
	_, ok = c.get(of[1], now)
	require.False(t, ok)
	_, ok = c.get(of[0], now)
	require.True(t, ok)
	_, ok = c.get(of[2], now.Add(time.Minute))
	require.False(t, ok, "its time is over")
	entries, _ := c.size()
	require.Equal(t, 1, entries)
	c.put(of[0], newRemembered(5, now.Add(time.Hour)))
	entries, bytes := c.size()
	require.Equal(t, 1, entries)
	require.Equal(t, overhead+10, bytes)
}

// size counts what is cached.
func (c *cache) size() (entries, bytes int) {
	for i := range c.parts {
		p := &c.parts[i]
		p.mu.Lock()
		entries += p.order.Len()
		bytes += p.bytes
		p.mu.Unlock()
	}
	return entries, bytes
}
