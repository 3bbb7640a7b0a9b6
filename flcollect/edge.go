package flcollect

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/upstream"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// Upstream makes the jobs of a server edges: each is a client of the job with the same id
// at another server, the upper one, and has Flower clients of its own. The upper server
// decides on the rounds and has the model. In each round the edge has its clients train,
// and sends the exact sum of their updates, with what they report. The model of the upper
// server has the same bits as if all clients were its own. An edge may itself be the upper
// server of others.
//
// The rules of sampling and failures of an edge are those of the job's configuration there.
// The number of its rounds and its targets have no effect, and of its client_conf counts
// what the instructions of the upper server do not have. The job ends as FINISHED when the
// upper server sends the edge away. It has no result: that is at the upper server.
//
// Strategies take sums if [strategy.Merges] says so. A job with another strategy, with a
// privacy mechanism, or one that cuts updates, is refused at an edge, and an upper server
// refuses the edges of such a job.
type Upstream struct {
	// Target is where the upper server listens for Flower clients, host and port. Required.
	Target string
	// TLS, Token, Name, MaxMessage and Dial are as in [flower.ClientConfig].
	TLS        *tls.Config
	Token      string
	Name       string
	MaxMessage int64
	Dial       func(ctx context.Context, target string) (net.Conn, error)
}

// client returns a client of the upper server for a job.
func (u Upstream) client(job string, e *edge) (*flower.Client, error) {
	return flower.NewClient(flower.ClientConfig{
		Target: u.Target, TLS: u.TLS, Token: u.Token, Name: u.Name, MaxMessage: u.MaxMessage, Dial: u.Dial,
		Trainer: e, Joined: e.join, Header: upstream.Announce(job),
	})
}

// check returns an error for a configuration that no client can have.
func (u Upstream) check() error {
	if _, err := u.client("any", &edge{}); err != nil {
		return fmt.Errorf("configure training collector: Upstream: %w", err)
	}
	return nil
}

// refuseEdge returns the error of a job that can be no edge, a *[strategy.FieldError] or a
// *[jobconfig.Error].
func refuseEdge(config jobconfig.Config, made strategy.Strategy) error {
	if config.Async != nil {
		return refuseAsync("has no meaning at a collector with an upper one, which decides on the rounds")
	}
	if config.App != "" && config.Records == jobconfig.Arrays {
		return &jobconfig.Error{Faults: []jobconfig.Fault{{Path: []any{"server_conf", "records"}, Kind: jobconfig.Invalid,
			Reason: "must be fitins at a collector with an upper one, whose instructions have no names of layers"}}}
	}
	if err := mergesSums(config, made); err != nil {
		return &strategy.FieldError{Strategy: config.Strategy, Field: "strategy",
			Reason: "cannot be that of a collector with an upper one: " + err.Error()}
	}
	return nil
}

// mergesSums returns nil if a job can be part of a tree of collectors, and otherwise the
// reason why not.
func mergesSums(config jobconfig.Config, made strategy.Strategy) error {
	if names := config.Mechanisms(); len(names) > 0 {
		return fmt.Errorf("the privacy mechanism %q needs the update of every client, and a sum does not have them", names[0])
	}
	if config.Async != nil {
		return errors.New("each update of an asynchronous job has a weight of its own, which a sum does not have")
	}
	return strategy.Merges(made)
}

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

// admitEdge has an edge join the job that it names. It waits until the strategy of the
// job is known, and returns an error that matches [flower.ErrUnfit] if that takes no sums.
func (l *lobby) admitEdge(ctx context.Context, v *visitor) error {
	id := upstream.JobOf(v.Peer)
	if id == "" {
		return nil
	}
	if l.noEdges {
		return fmt.Errorf("%w: this server takes no collectors as clients", flower.ErrUnfit)
	}
	v.job = id
	j := l.jobs.get(id)
	if j == nil {
		return nil // join waits for it
	}
	select {
	case <-j.edges.known:
	case <-j.done:
		return nil
	case <-l.ending.Done():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if j.edges.err != nil {
		return fmt.Errorf("%w: job %q with the strategy %q takes no collectors as clients: %w",
			flower.ErrUnfit, id, j.record().Config.Strategy, j.edges.err)
	}
	return nil
}

// trainEdge has a job follow the upper server until that sends it away, which is no error.
func (j *job) trainEdge(ctx context.Context) error {
	up := j.server.config.Upstream
	if up == nil {
		return fmt.Errorf("the job follows the collector at %s, and this server has no upper one any more", j.record().Upstream)
	}
	t, err := j.newTraining(ctx)
	if err != nil {
		return err
	}
	if err := refuseEdge(t.config, j.strategy); err != nil {
		return err
	}
	if err := t.openBooks(ctx); err != nil {
		return err
	}
	t.openRun()
	defer t.closeRun()
	e := &edge{training: t, orders: make(chan order)}
	link, err := up.client(j.id, e)
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
