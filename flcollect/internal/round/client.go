package round

import (
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/upstream"
)

// Client is a Flower client that is connected.
type Client struct {
	Session *flower.Session
	// Identity is the name under which its reputation is kept.
	Identity string
	// Proven is whether the keys of an encrypting client were checked. It belongs to
	// the training.
	Proven bool

	// What follows belongs to the pool.
	at     int  // its place
	pooled bool // whether it is in the pool
	tried  bool // whether Untried has returned it
}

// Name returns the name of the client's session.
func (c *Client) Name() string { return c.Session.ID() }

// Edge reports whether the client is a collector, with clients of its own.
func (c *Client) Edge() bool { return upstream.JobOf(c.Session.Peer()) != "" }

func (c *Client) left() bool {
	select {
	case <-c.Session.Done():
		return true
	default:
		return false
	}
}

// length returns the length of parameters in bytes.
func length(p flower.Parameters) (bytes int64) {
	for _, blob := range p.Tensors {
		bytes += int64(blob.Len())
	}
	return bytes
}
