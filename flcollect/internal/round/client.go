package round

import (
	"context"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/upstream"
)

// Session carries instructions to one client, and its answers back. It is safe for
// concurrent use. The context of a method bounds the wait for the answer. A
// [flower.Session] is one; so is the place of a SuperNode in a run.
type Session interface {
	// Fit has the client train. The answer must be released.
	Fit(ctx context.Context, ins flower.FitIns) (*flower.FitRes, error)
	// Evaluate has the client measure a model.
	Evaluate(ctx context.Context, ins flower.EvaluateIns) (*flower.EvaluateRes, error)
	// Parameters requests the client's model. The answer must be released.
	Parameters(ctx context.Context, ins flower.GetParametersIns) (*flower.ParametersRes, error)
	// Reconnect ends the session. The client comes back after the seconds, or not at all
	// if they are zero.
	Reconnect(ctx context.Context, seconds int64) error
	// Done is closed when the session has ended.
	Done() <-chan struct{}
}

// Client is a client that is connected.
type Client struct {
	Session Session
	// Peer describes its end of the connection.
	Peer flower.Peer
	// Identity is the name under which its reputation is kept.
	Identity string
	// Proven is whether the keys of an encrypting client were checked. It belongs to
	// the training.
	Proven bool

	name string

	// What follows belongs to the pool.
	at     int  // its place
	pooled bool // whether it is in the pool
	tried  bool // whether Untried has returned it
}

// NewClient returns the client of a stream.
func NewClient(session *flower.Session, identity string) *Client {
	return NewMember(session, session.ID(), session.Peer(), identity)
}

// NewMember returns a client that is reached in another way than by a stream of its own.
// Its name is unique among the clients of a job.
func NewMember(session Session, name string, peer flower.Peer, identity string) *Client {
	return &Client{Session: session, Peer: peer, Identity: identity, name: name}
}

// Name returns the name of the client's session.
func (c *Client) Name() string { return c.name }

// Edge reports whether the client is a collector, with clients of its own.
func (c *Client) Edge() bool { return upstream.AnnouncedJob(c.Peer) != "" }

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
