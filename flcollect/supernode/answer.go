package supernode

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/record"
)

// admission is how long a request waits for memory before the SuperNode is asked to try
// again: less than the 30 s after which it gives up a request.
const admission = 20 * time.Second

// leastAnswer is the least that is reserved for an answer, in bytes.
const leastAnswer = 64 << 10

// answer is the answer to a dispatch while its objects arrive.
type answer struct {
	node   *Node
	d      *dispatch
	root   string // the ID of its message
	charge *charge

	mu      sync.Mutex
	parts   map[string]flower.Blob // by ID; nil for one that is missing
	order   []string               // of the IDs
	missing int
	used    int64 // bytes that have arrived, or arrive
	granted int64 // bytes that the charge has, or is asked for
	dropped bool
	whole   bool
	stall   *time.Timer
}

// newAnswer begins an answer with those objects. Those of the instruction, which the node
// has by right, need not be sent.
func newAnswer(n *Node, d *dispatch, tree record.Tree) *answer {
	a := &answer{node: n, d: d, root: tree.ID, parts: map[string]flower.Blob{}}
	for id := range tree.IDs() {
		content, known := d.object(id)
		a.parts[id] = content
		a.order = append(a.order, id)
		if !known {
			a.missing++
		}
	}
	a.granted = min(a.estimate(), n.s.config.Uploads)
	a.charge = n.s.uploads.reserve(a.granted)
	a.stall = time.AfterFunc(n.s.config.Stall, a.drop)
	return a
}

// estimate returns how many bytes the answer may have. Its tree does not say.
func (a *answer) estimate() int64 {
	most := int64(a.missing) * (record.ChunkSize + 1024)
	return min(most, max(a.d.expect, leastAnswer), a.node.s.config.MaxMessage)
}

// admit waits until there is memory for the answer.
func (a *answer) admit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, admission)
	defer cancel()
	select {
	case <-a.charge.ready:
		a.alive()
		return nil
	case <-ctx.Done():
		a.alive() // it keeps its place
		return busy("The collector has no memory for another answer at the moment.")
	}
}

// alive notes that the node goes on with the answer.
func (a *answer) alive() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.dropped && !a.whole {
		a.stall.Reset(a.node.s.config.Stall)
	}
}

// lacks returns the IDs of the objects that are missing.
func (a *answer) lacks() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var ids []string
	for _, id := range a.order {
		if a.parts[id] == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// begin takes memory for an object that arrives.
func (a *answer) begin(ctx context.Context, size int64) error {
	select {
	case <-a.charge.ready:
	default:
		return busy("The answer is not announced.")
	}
	a.mu.Lock()
	if a.dropped || a.whole {
		a.mu.Unlock()
		return errDropped
	}
	a.used += size
	more := max(a.used-a.granted, 0)
	a.granted += more
	total := a.used
	a.mu.Unlock()
	if limit := a.node.s.config.MaxMessage; total > limit {
		a.node.withdraw(a.d)
		a.d.fail(fmt.Errorf("%w: the answer has more than %d bytes", flower.ErrTooLarge, limit))
		return tooLarge("The answer", total, limit)
	}
	if more == 0 {
		a.alive()
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, admission)
	defer cancel()
	err := a.charge.grow(ctx, more)
	if err == nil {
		a.alive()
		return nil
	}
	a.mu.Lock()
	a.used -= size
	a.granted -= more
	a.mu.Unlock()
	if errors.Is(err, errDropped) {
		return err
	}
	a.alive()
	return busy("The collector has no memory for another object at the moment.")
}

// errDropped is returned for an object of an answer that is not awaited any more.
var errDropped = fmt.Errorf("%w: the answer is not awaited", flower.ErrProtocol)

// take counts bytes.
func (a *answer) take(size int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used += size
}

// put stores an object whose size begin has counted, and reports whether it belongs to
// the answer. The answer counts once the last object is there.
func (a *answer) put(id string, content flower.Blob, size int64) bool {
	a.mu.Lock()
	before, listed := a.parts[id]
	if !listed || before != nil || a.dropped {
		a.used -= size
		a.mu.Unlock()
		return listed && before != nil
	}
	a.parts[id] = content
	a.missing--
	whole := a.missing == 0
	a.mu.Unlock()
	if whole {
		a.complete()
	} else {
		a.alive()
	}
	return true
}

// complete passes the answer on, once it is admitted and whole.
func (a *answer) complete() {
	a.mu.Lock()
	if a.whole || a.dropped || a.missing > 0 {
		a.mu.Unlock()
		return
	}
	a.whole = true
	a.stall.Stop()
	used := a.used
	a.mu.Unlock()
	a.charge.shrink(used)
	a.node.answered(a.d, true)
	limits := record.Limits{Bytes: a.node.s.config.MaxMessage}
	a.d.finish(&reply{
		read: func() (record.Message, error) {
			return record.Inflate(a.root, func(id string) (flower.Blob, bool) {
				content := a.parts[id] // nothing changes any more
				return content, content != nil
			}, limits)
		},
		release: a.charge.release,
	}, nil)
}

// drop gives the memory of an answer back that is not whole. The node may send it again.
func (a *answer) drop() {
	a.mu.Lock()
	if a.whole || a.dropped {
		a.mu.Unlock()
		return
	}
	a.dropped = true
	a.stall.Stop()
	a.parts = nil
	a.mu.Unlock()
	a.charge.release()
}

// answered ends the work of the node on a message. With objects, the SuperNode may send one
// of them again.
func (n *Node) answered(d *dispatch, objects bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.current == d {
		n.current = nil
		n.repeats = objects
	}
}
