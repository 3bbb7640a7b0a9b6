package supernode

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"fmt"
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
)

// form is how a release carries messages.
type form int

const (
	formUnknown form = iota // a node of 1.15 to 1.22 that has sent no heartbeat yet
	formObjects             // in objects: 1.20 and later
	formWhole               // in the answer to PullMessages: 1.15 to 1.18
	formTask                // in the answer to PullTaskIns: 1.13 and 1.14
)

// Node is a SuperNode that is active: it was activated, and its heartbeats come. It is
// safe for concurrent use.
type Node struct {
	s   *Server
	id  uint64
	key *nodeKey // nil for a release that does not sign
	ctx context.Context
	end context.CancelCauseFunc

	mu      sync.Mutex
	name    string
	address string
	certs   []*x509.Certificate
	release string
	form    form
	known   chan struct{} // closed when form changes
	created bool          // by CreateNode, and it may be Flower 1.19

	patience time.Duration
	deadline time.Time
	timer    *time.Timer
	handled  bool  // Handle is running
	unfit    error // of Handle

	queue   []*dispatch
	current *dispatch // that the node works on
	recent  *dispatch // that was withdrawn while the node fetched it
	repeats bool      // objects of the last answer may come again
	waiting *pull

	uploading chan struct{} // has a token while a request with a whole answer is read
	giveUp    func()        // ends the request that has the token or waits for it
}

// pull is a request for a message that waits for one.
type pull struct {
	wake chan struct{} // has a token when there is something new
	over chan struct{} // closed when the node has sent another one
}

// ID returns the number of the node, which is never 0.
func (n *Node) ID() uint64 { return n.id }

// String returns the name of the node for logs, which is unique among the active nodes,
// such as "supernode:1234", or "hospital-7@supernode:1234" with a name of
// Config.Authorize.
func (n *Node) String() string {
	if name := n.Name(); name != "" {
		return fmt.Sprintf("%s@supernode:%d", name, n.id)
	}
	return fmt.Sprintf("supernode:%d", n.id)
}

// Name returns what Config.Authorize returned for the node.
func (n *Node) Name() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.name
}

// PublicKey returns the key with which the node signs its requests, or nil if it does not.
func (n *Node) PublicKey() *ecdsa.PublicKey {
	if n.key == nil {
		return nil
	}
	return n.key.public
}

// Release returns the version of Flower that the node says it has, such as "1.42.0";
// empty for one before 1.30, which does not say.
func (n *Node) Release() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.release
}

// Peer describes the client end of the connection.
func (n *Node) Peer() flower.Peer {
	n.mu.Lock()
	defer n.mu.Unlock()
	return flower.Peer{Addr: n.address, Certificates: n.certs, Name: n.name}
}

// Done is closed when the node is gone: it was deactivated, its heartbeats stopped, or
// the server stopped.
func (n *Node) Done() <-chan struct{} { return n.ctx.Done() }

// Err returns why the node is gone, or nil as long as it is active.
func (n *Node) Err() error { return context.Cause(n.ctx) }

// touchLocked notes a sign of life.
func (n *Node) touchLocked() { n.deadline = time.Now().Add(n.patience) }

// expire removes the node if it was silent for too long.
func (n *Node) expire() {
	n.mu.Lock()
	left := time.Until(n.deadline)
	if left > 0 && n.ctx.Err() == nil {
		n.timer.Reset(left)
	}
	silent := n.patience
	n.mu.Unlock()
	if left <= 0 {
		n.s.remove(n, fmt.Errorf("%w: no heartbeat for %v", flower.ErrGone, silent))
	}
}

// leave ends the node: its messages fail.
func (n *Node) leave(cause error) {
	n.end(cause)
	n.mu.Lock()
	n.timer.Stop()
	left := n.queue
	if n.current != nil {
		left = append(left, n.current)
	}
	n.queue, n.current, n.recent = nil, nil, nil
	n.mu.Unlock()
	for _, d := range left {
		d.fail(cause)
	}
}

// setForm notes how the node's release carries messages.
func (n *Node) setForm(f form) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.setFormLocked(f)
}

func (n *Node) setFormLocked(f form) {
	if n.form == f || f == formUnknown {
		return
	}
	n.form = f
	close(n.known)
	n.known = make(chan struct{})
}

// loadForm returns how the node's release carries messages, once that is known.
func (n *Node) loadForm(ctx context.Context) (form, error) {
	for {
		n.mu.Lock()
		f, known := n.form, n.known
		n.mu.Unlock()
		if f != formUnknown {
			return f, nil
		}
		select {
		case <-known:
		case <-ctx.Done():
			return formUnknown, context.Cause(ctx)
		case <-n.ctx.Done():
			return formUnknown, context.Cause(n.ctx)
		}
	}
}

// next returns the next message for the node. It waits for one; nil means that there is
// none.
func (n *Node) next(ctx context.Context, hold time.Duration) (*dispatch, error) {
	p := &pull{make(chan struct{}, 1), make(chan struct{})}
	n.mu.Lock()
	if n.waiting != nil { // the node has given up that request
		close(n.waiting.over)
	}
	n.waiting = p
	n.mu.Unlock()
	defer n.endPull(p)
	timer := time.NewTimer(hold)
	defer timer.Stop()
	for {
		d, lost, err := n.take(p)
		for _, d := range lost {
			d.fail(fmt.Errorf("%w: it asked for the next one %d times without an answer", ErrLost, d.given-1))
		}
		if d != nil || err != nil {
			return d, err
		}
		select {
		case <-p.wake:
		case <-p.over:
			return nil, nil
		case <-timer.C:
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-n.ctx.Done():
			return nil, context.Cause(n.ctx)
		}
	}
}

func (n *Node) endPull(p *pull) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiting == p {
		n.waiting = nil
	}
}

// take returns the message that a request gets, if there is one, and those that the node
// has lost too often. A SuperNode works on one message at a time, so one that asks again
// has lost the last one: its process was restarted, or it could not send its answer.
func (n *Node) take(p *pull) (d *dispatch, lost []*dispatch, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx.Err() != nil {
		return nil, nil, context.Cause(n.ctx)
	}
	if n.waiting != p {
		return nil, nil, nil
	}
	n.repeats, n.recent = false, nil
	if d := n.current; d != nil {
		if d.confirmed {
			d.lost++
			d.confirmed = false
		}
		if a := d.answer; a != nil {
			d.answer = nil
			a.drop()
		}
		if d.given++; d.lost < mostLost && d.given < mostGiven {
			return d, nil, nil
		}
		n.current, lost = nil, append(lost, d)
	}
	if len(n.queue) > 0 {
		n.current, n.queue = n.queue[0], n.queue[1:]
		n.current.given++
	}
	return n.current, lost, nil
}

// send queues a message.
func (n *Node) send(d *dispatch) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx.Err() != nil {
		return context.Cause(n.ctx)
	}
	n.queue = append(n.queue, d)
	if n.waiting != nil {
		select {
		case n.waiting.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

// withdraw takes a message back. What the node still sends of its answer is dropped.
func (n *Node) withdraw(d *dispatch) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, queued := range n.queue {
		if queued == d {
			n.queue = append(n.queue[:i:i], n.queue[i+1:]...)
			break
		}
	}
	if n.current == d {
		n.current = nil
		n.keepLocked(d)
	}
	if a := d.answer; a != nil {
		d.answer = nil
		a.drop()
	}
}

// keepLocked keeps a message for a while that was withdrawn and that the node may be
// fetching: Flower 1.20 to 1.23 ends when an object is missing.
func (n *Node) keepLocked(d *dispatch) {
	if n.form != formObjects || d.confirmed {
		return
	}
	n.recent = d
	time.AfterFunc(n.s.config.Stall, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.recent == d {
			n.recent = nil
		}
	})
}

// fetching returns the message of a run that the node fetches.
func (n *Node) fetching(run uint64) *dispatch {
	if d := n.working(run); d != nil {
		return d
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if d := n.recent; d != nil && d.run.config.ID == run {
		return d
	}
	return nil
}

// working returns the message that the node works on, if it belongs to the run; 0 means
// any run.
func (n *Node) working(run uint64) *dispatch {
	n.mu.Lock()
	defer n.mu.Unlock()
	if d := n.current; d != nil && (run == 0 || d.run.config.ID == run) {
		return d
	}
	return nil
}
