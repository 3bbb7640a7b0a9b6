package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/flower"
)

// edgeRule is whether a job accepts edges as clients.
type edgeRule struct {
	known chan struct{} // closed once the strategy is known
	err   error         // set before
}

func newEdgeRule() *edgeRule { return &edgeRule{known: make(chan struct{})} }

// settle decides, once, when the strategy is known; the error is nil if it accepts sums.
func (r *edgeRule) settle(err error) {
	r.err = err
	close(r.known)
}

// AdmitEdge waits until the strategy of the job is known, and returns an error that matches
// [flower.ErrUnfit] if that accepts no sums. Leaving ends when the client is to leave.
func (j *Job) AdmitEdge(ctx context.Context, leaving <-chan struct{}) error {
	select {
	case <-j.edges.known:
	case <-j.Done():
		return nil
	case <-leaving:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if j.edges.err != nil {
		return fmt.Errorf("%w: job %q with the strategy %q takes no collectors as clients: %w",
			flower.ErrUnfit, j.id, j.Record().Config.Strategy, j.edges.err)
	}
	return nil
}

// trainEdge has a job follow the upper server until that disconnects it, which is not an error.
func (j *Job) trainEdge(ctx context.Context) error {
	connect := j.service.Upstream
	if connect == nil {
		return fmt.Errorf("the job follows the collector at %s, and this server has no upper one any more", j.Record().Upstream)
	}
	t, err := j.newTraining(ctx)
	if err != nil {
		return err
	}
	if err := CheckEdge(t.config, j.strategy); err != nil {
		return err
	}
	if err := t.openBooks(ctx); err != nil {
		return err
	}
	t.openRun()
	defer t.closeRun()
	e := &edge{training: t, orders: make(chan order)}
	link, err := connect(j.id, e, e.join)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	gone := make(chan error, 1)
	go func() {
		err := e.follow(ctx, link)
		gone <- err
		end(cmp.Or(err, errDismissed))
	}()
	err = e.serve(ctx)
	end(err)
	if left := <-gone; errors.Is(err, errDismissed) || left != nil && errors.Is(err, left) {
		return left
	}
	return err
}

// errDismissed ends the work of an edge that was disconnected.
var errDismissed = errors.New("the upper collector has ended the job")
