package flcollect

import (
	"context"
	"time"

	"github.com/iotenablers/enablers/flcollect/internal/job"
	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/supernode"
)

// HandleNode serves a SuperNode; it is the function for supernode.Config.Handle. While a
// job with an app trains, the node is one of its clients: it joins the job that lacks
// most clients, the oldest of several. When the job has ended, the node waits for the next
// one. HandleNode returns when the context or the server ends; the node goes on with the
// next server. It needs [Config].Fleet.
func (s *Server) HandleNode(ctx context.Context, node *supernode.Node) error {
	return s.lobby.handleNode(ctx, node)
}

// handleNode serves a SuperNode until it is gone or the server ends.
func (l *lobby) handleNode(ctx context.Context, node *supernode.Node) error {
	l.enter()
	defer l.leave()
	identity := round.MemberIdentity(node.Name(), node.String(), node.PublicKey())
	for {
		if l.ending.Err() != nil {
			return nil
		}
		j, c, next, err := l.joinNode(node, identity)
		switch {
		case err != nil:
		case j != nil:
			err = l.keepNode(ctx, c, j)
		default:
			err = l.waitNode(ctx, next)
		}
		if err != nil {
			if l.ending.Err() != nil {
				return nil
			}
			if ctx.Err() != nil {
				return err
			}
			l.pauseNode(ctx, node, err)
		}
	}
}

// pauseNode waits a second after an error, such as that of a node that is still leaving the
// run that it was in before.
func (l *lobby) pauseNode(ctx context.Context, node *supernode.Node, err error) {
	l.log.Debug("a SuperNode did not join its job, and will try again", "node", node.String(), "error", err)
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.ending.Done():
	case <-ctx.Done():
	}
}

// waitNode waits until another job may take the node.
func (l *lobby) waitNode(ctx context.Context, next <-chan struct{}) error {
	l.addWaiting(1)
	defer l.addWaiting(-1)
	select {
	case <-next:
		return nil
	case <-l.ending.Done():
		return ErrNotRunning
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// keepNode keeps a SuperNode in the pool of its job until one of them ends.
func (l *lobby) keepNode(ctx context.Context, c *round.Client, j *job.Job) error {
	defer func() {
		_ = c.Session.Reconnect(ctx, 0) // it leaves the run, which cannot fail
		j.Remove(c)
	}()
	select {
	case <-j.Ended():
	case <-j.Done():
	case <-c.Session.Done(): // its run is over
	case <-l.ending.Done():
		return ErrNotRunning
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// joinNode adds a SuperNode to the job that lacks most clients. Where no job accepts SuperNodes
// it returns a channel that is closed when one may.
func (l *lobby) joinNode(node *supernode.Node, identity string) (*job.Job, *round.Client, <-chan struct{}, error) {
	l.joining.Lock()
	defer l.joining.Unlock()
	for {
		next := l.jobs.offers()
		best := l.jobs.first((*job.Job).AcceptsNodes)
		if best == nil {
			return nil, nil, next, nil
		}
		if c, err := best.AddNode(node, identity); c != nil || err != nil {
			return best, c, nil, err
		}
	}
}
