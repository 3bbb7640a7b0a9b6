package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
)

// edgeRule is whether a job takes edges as clients.
type edgeRule struct {
	known  chan struct{} // closed once the strategy is made
	settle func(err error)
	err    error
}

func newEdgeRule() *edgeRule {
	r := &edgeRule{known: make(chan struct{})}
	var once sync.Once
	r.settle = func(err error) {
		once.Do(func() {
			r.err = err
			close(r.known)
		})
	}
	return r
}

// trainEdge has a job follow the upper server until that sends it away, which is no error.
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
		end(cmp.Or(err, errSentAway))
	}()
	err = e.serve(ctx)
	end(err)
	if left := <-gone; errors.Is(err, errSentAway) || left != nil && errors.Is(err, left) {
		return left
	}
	return err
}

// errSentAway ends the work of an edge that was sent away.
var errSentAway = errors.New("the upper collector has ended the job")
