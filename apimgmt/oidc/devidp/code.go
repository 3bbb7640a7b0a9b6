package devidp

import (
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"
)

const (
	codeTTL  = time.Minute
	maxCodes = 10_000
)

// code is what a browser brings to a client after a login.
type code struct {
	request request
	session string
	ends    time.Time
	grant   string // of the client that came with it, "" before
}

// codes keeps codes until their time is over, so that a second use of one can
// be detected. The zero value is empty and safe for concurrent use.
type codes struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]*code
	order [][sha256.Size]byte // as they were made
}

// add returns a new code.
func (c *codes) add(of code) string {
	text := rand.Text() + rand.Text()
	digest := sha256.Sum256([]byte(text))
	of.ends = time.Now().Add(codeTTL)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = make(map[[sha256.Size]byte]*code)
	}
	for len(c.order) > 0 && (len(c.order) >= maxCodes || !time.Now().Before(c.known[c.order[0]].ends)) {
		delete(c.known, c.order[0])
		c.order = c.order[1:]
	}
	c.known[digest] = &of
	c.order = append(c.order, digest)
	return text
}

// take returns the code, if its time is not over, and marks it as used by a
// grant. If it was used before, that grant is returned as well.
func (c *codes) take(text, grant string) (of code, before string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.known[sha256.Sum256([]byte(text))]
	if !ok || !time.Now().Before(found.ends) {
		return code{}, "", false
	}
	before = found.grant
	if before == "" {
		found.grant = grant
	}
	return *found, before, true
}
