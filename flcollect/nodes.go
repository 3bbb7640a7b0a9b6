package flcollect

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	records "github.com/iotenablers/enablers/flcollect/record"
	"github.com/iotenablers/enablers/flcollect/supernode"
)

// HandleNode serves a SuperNode; it is the function for supernode.Config.Handle. While a
// job with an app trains, the node is one of its clients: it goes to the job that lacks
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
		j, c, next, err := l.jobs.joinNode(node, identity)
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
func (l *lobby) keepNode(ctx context.Context, c *round.Client, j *job) error {
	defer func() {
		_ = c.Session.Reconnect(ctx, 0) // it leaves the run, which cannot fail
		j.pool.Remove(c)
		j.signal()
	}()
	select {
	case <-j.over:
	case <-j.done:
	case <-c.Session.Done(): // its run is over
	case <-l.ending.Done():
		return ErrNotRunning
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// joinNode adds a SuperNode to the pool of the job that lacks most clients. Where no job
// takes SuperNodes it returns a channel that is closed when one may.
func (r *registry) joinNode(node *supernode.Node, identity string) (*job, *round.Client, <-chan struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var best *job
	for _, j := range r.active {
		if j.open && j.nodes != nil && (best == nil || j.beforeLocked(best)) {
			best = j
		}
	}
	if best == nil {
		return nil, nil, r.changed, nil
	}
	member, err := best.nodes.Join(node)
	if err != nil {
		return nil, nil, nil, err
	}
	c := round.NewMember(masker{member}, node.String(), node.Peer(), identity)
	best.pool.Add(c)
	best.signal()
	return best, c, nil, nil
}

// setNodes has a job take SuperNodes into a run, or no more if it is nil.
func (r *registry) setNodes(j *job, run *supernode.Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	j.nodes = run
	if run != nil {
		r.announceLocked()
	}
}

// checkApp returns nil if the app of a job can be delivered to SuperNodes, and otherwise
// an error of the configuration.
func checkApp(config jobconfig.Config, fleet *supernode.Server) error {
	if config.App == "" {
		return nil
	}
	reason := "cannot take part: this server has no listener for SuperNodes"
	if fleet != nil {
		_, err := fleet.Apps().Find(config.App)
		if err == nil {
			return nil
		}
		reason = err.Error()
	}
	fault := jobconfig.Fault{Path: []any{"app"}, Kind: jobconfig.Invalid, Reason: reason}
	return &jobconfig.Error{Faults: []jobconfig.Fault{fault}}
}

// newFleetRun draws the number of a run for SuperNodes.
func newFleetRun() uint64 {
	for {
		var data [8]byte
		rand.Read(data[:]) // does not fail
		if id := binary.BigEndian.Uint64(data[:]) >> 1; id > 0 {
			return id
		}
	}
}

// errNoFleet is the trouble of a job with an app that a server goes on with which has no
// listener for SuperNodes any more.
var errNoFleet = errors.New("no SuperNode can take part: this server has no listener for them")

// openRun has SuperNodes join the job, if its configuration has an app. A run that cannot
// be opened shows in the status: other clients may go on without.
func (t *training) openRun() {
	r := t.record()
	fleet := t.server.config.Fleet
	if t.config.App == "" || t.run != nil {
		return
	}
	err := errNoFleet
	if fleet != nil {
		config := supernode.RunConfig{ID: r.FleetRun, App: t.config.App, Records: supernode.Records(t.config.Records)}
		if config.Records == supernode.Arrays {
			config.Names = round.Shared(r.Local, r.Layers)
			if r.Local != nil {
				config.Whole = r.Layers
			}
		}
		t.run, err = fleet.OpenRun(config)
	}
	t.trouble(ofFleet, err)
	if err != nil {
		t.log.Warn("SuperNodes cannot take part", "app", t.config.App, "error", err)
		return
	}
	t.log.Info("SuperNodes take part", "app", t.run.App().String(), "records", t.config.Records)
	t.server.jobs.setNodes(t.job, t.run)
}

// closeRun has the job take no more SuperNodes, and sends the SuperNodes back, to wait for another job.
func (t *training) closeRun() {
	if t.run != nil {
		t.server.jobs.setNodes(t.job, nil)
		t.run.Close()
		t.run = nil
	}
	t.trouble(ofFleet, nil)
}

// setRound says to SuperNodes which round begins.
func (t *training) setRound(number int) {
	if t.run != nil {
		t.run.SetRound(number)
	}
}

// borrowing says why a job with an app of the Message API has no model to begin with; nil
// where SuperNodes are asked for theirs.
func (t *training) borrowing() error {
	if t.config.App == "" || t.config.Records != jobconfig.Arrays {
		return nil
	}
	return fmt.Errorf("there is no model %q of version %q to begin with, and apps of the Message API have none to give: "+
		"the server needs it in the folder of its models or in the repository, or a client of start_client that has one",
		t.config.ModelName, t.config.ModelVersion)
}

// masker is the place of a SuperNode in the run of a job. Unlike a stream of start_client it
// can take part in secure aggregation: it is a [round.Exchanger].
type masker struct{ *supernode.Member }

// Node returns the number of the SuperNode, by which the others know it.
func (m masker) Node() uint64 { return m.Member.Node().ID() }

// Exchange implements [round.Exchanger].
func (m masker) Exchange(ctx context.Context, messageType string, content records.Dict) (records.Dict, func(), error) {
	reply, err := m.Member.Exchange(ctx, messageType, content)
	if err != nil {
		return nil, nil, err
	}
	return reply.Content, reply.Release, nil
}
