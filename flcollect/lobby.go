package flcollect

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/group"
	"github.com/iotenablers/enablers/flcollect/internal/job"
	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/internal/upstream"
	"github.com/iotenablers/enablers/internal/notify"
)

// lobby serves the Flower clients of a server: it finds the job of each client, has it
// wait while none exists, and disconnects it in the end. It is safe for concurrent use.
type lobby struct {
	jobs     *registry
	route    func(session *flower.Session) string // nil takes the host that the client called
	identify func(session *flower.Session) string // nil has no names
	noEdges  bool
	park     time.Duration
	ending   context.Context // of the server

	log   *slog.Logger
	group *group.Group // nil if the server is alone on its store; set before use

	joining sync.Mutex // one client joins at a time: each counts for the next one's choice

	mu       sync.Mutex
	sessions int
	waiting  int
	left     chan struct{} // has a token when a session has ended
}

func newLobby(jobs *registry, config Config, ending context.Context) *lobby {
	return &lobby{
		jobs: jobs, route: config.Route, identify: config.Identify, noEdges: config.NoEdges, park: config.Park, ending: ending,
		log: config.Logger, left: make(chan struct{}, 1),
	}
}

// visitor is a client whose job is not known yet.
type visitor struct {
	group.Visitor
	job   string // the id of its job, if its property or Config.Route names it
	asked bool   // for its properties
}

// propertiesTimeout bounds the request for the properties of a client.
const propertiesTimeout = 30 * time.Second

// handle serves a client until its session or its job ends.
func (l *lobby) handle(ctx context.Context, session *flower.Session) error {
	client := round.NewClient(session, round.Identity(session, l.identify))
	v := &visitor{Visitor: group.Visitor{Client: client, Session: session}}
	l.enter()
	defer l.leave()
	for {
		if err := l.admitEdge(ctx, v); err != nil {
			return err
		}
		j, other, next, err := l.join(ctx, v)
		over := true
		switch {
		case err != nil:
		case j != nil:
			over, err = l.keep(ctx, v.Client, j)
		case other != nil:
			over, err = l.relay(ctx, v, other)
		case v.Peer.Relay != nil:
			err = l.sendBack(ctx, v.Client)
		default:
			over, err = l.wait(ctx, v.Client, next)
		}
		if over || err != nil {
			return err
		}
	}
}

func (l *lobby) enter() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessions++
}

func (l *lobby) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessions--
	notify.Send(l.left)
}

// count returns how many clients are connected, and how many of them wait for a job.
func (l *lobby) count() (sessions, waiting int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessions, l.waiting
}

func (l *lobby) addWaiting(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting += n
}

// join adds a client to its job, or returns its job at another server. Where none exists
// for it, the channel is closed when there may be another job, and the client counts as waiting.
func (l *lobby) join(ctx context.Context, v *visitor) (*job.Job, *group.Remote, <-chan struct{}, error) {
	relayed := v.Peer.Relay
	if relayed != nil {
		v.job = relayed.Job
	} else if l.route != nil && !v.Edge() {
		if id := l.route(v.Session); id != "" {
			v.job = id
		}
	}
	label := l.label(v.Peer)
	if v.job == "" && !v.asked && l.ambiguous(label) {
		v.asked = true
		id, err := trainingID(ctx, v.Session)
		if err != nil {
			return nil, nil, nil, err
		}
		v.job = id
	}
	l.joining.Lock()
	defer l.joining.Unlock()
	for {
		next := l.jobs.offers()
		j, other := l.choose(v, label)
		switch {
		case other != nil:
			l.group.Sent(other)
			return nil, other, nil, nil
		case j == nil:
			if relayed == nil {
				l.addWaiting(1)
			}
			return nil, nil, next, nil
		case j.Add(v.Client):
			return j, nil, nil, nil
		}
	}
}

// choose returns the job of a client at this server, or at another one. A client is relayed
// once at most.
func (l *lobby) choose(v *visitor, label string) (*job.Job, *group.Remote) {
	j := l.jobs.choose(v.job, label)
	if l.group == nil || v.Peer.Relay != nil {
		return j, nil
	}
	other, rank := l.group.Choose(v.job, label)
	if other == nil || j != nil && (v.job != "" || j.ID() == label || !rank.Before(j.Rank())) {
		return j, nil
	}
	return nil, other
}

// ambiguous reports whether several jobs take clients, and none of them is the one whose
// id is the label.
func (l *lobby) ambiguous(label string) bool {
	open := 0
	for _, j := range l.jobs.all() {
		if j.Accepts() {
			if j.ID() == label {
				return false
			}
			open++
		}
	}
	if l.group != nil {
		others := l.group.Open()
		if slices.Contains(others, label) {
			return false
		}
		open += len(others)
	}
	return open > 1
}

// admitEdge has an edge join the job that it names, and returns an error that matches
// [flower.ErrUnfit] if the strategy of that accepts no sums.
func (l *lobby) admitEdge(ctx context.Context, v *visitor) error {
	id := upstream.AnnouncedJob(v.Peer)
	if id == "" {
		return nil
	}
	if l.noEdges {
		return fmt.Errorf("%w: this server takes no collectors as clients", flower.ErrUnfit)
	}
	v.job = id
	if j := l.jobs.get(id); j != nil {
		return j.AdmitEdge(ctx, l.ending.Done())
	}
	return nil // join waits for it
}

// relay has another server instruct a client until its job has ended.
func (l *lobby) relay(ctx context.Context, v *visitor, other *group.Remote) (over bool, err error) {
	next, err := l.group.Relay(ctx, &v.Visitor, other)
	switch next {
	case group.Leave:
		return true, l.disconnect(ctx, v.Client)
	case group.Dismiss:
		return true, release(ctx, v.Client)
	case group.Interrupted:
		return true, l.dismissStopped(ctx, v.Client, other.ID())
	case group.Fail:
		return true, err
	}
	return false, nil
}

// sendBack ends a relay for a job that this server does not conduct: the server that
// relays looks for the job again.
func (l *lobby) sendBack(ctx context.Context, c *round.Client) error {
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	return c.Session.Reconnect(ctx, 1)
}

// wait has a client wait until a job is started, or it leaves.
func (l *lobby) wait(ctx context.Context, c *round.Client, next <-chan struct{}) (over bool, err error) {
	defer l.addWaiting(-1)
	select {
	case <-l.ending.Done():
		return true, l.disconnect(ctx, c)
	case <-ctx.Done():
		return true, context.Cause(ctx)
	case <-next:
		return false, nil
	}
}

// keep keeps a client in the pool of its job until one of them ends.
func (l *lobby) keep(ctx context.Context, c *round.Client, j *job.Job) (over bool, err error) {
	defer j.Remove(c)
	select {
	case <-j.Ended():
		return true, l.dismiss(ctx, c, j)
	case <-l.ending.Done():
		return true, l.disconnect(ctx, c)
	case <-ctx.Done():
		return true, context.Cause(ctx)
	case <-j.Done():
		select {
		case <-j.Ended(): // both were ready
			return true, l.dismiss(ctx, c, j)
		default:
		}
		if l.ending.Err() != nil {
			return true, l.disconnect(ctx, c)
		}
		return false, nil // another server goes on with the job
	}
}

// dismiss ends the session of a client whose job has ended.
func (l *lobby) dismiss(ctx context.Context, c *round.Client, j *job.Job) error {
	if j.Abrupt() {
		return l.dismissStopped(ctx, c, j.ID())
	}
	return release(ctx, c)
}

// dismissStopped ends the session of a client of a job that was stopped. An edge ends with an
// error; it would wait for the next run otherwise.
func (l *lobby) dismissStopped(ctx context.Context, c *round.Client, id string) error {
	if c.Edge() {
		return fmt.Errorf("%w: job %q was interrupted", flower.ErrUnfit, id)
	}
	return release(ctx, c)
}

// release ends the session of a client, which does not come back. Where the client carries
// out an instruction, it has a bounded time to answer.
func release(ctx context.Context, c *round.Client) error {
	ctx, cancel := context.WithTimeout(ctx, job.Dismissal)
	defer cancel()
	return c.Session.Reconnect(ctx, 0)
}

// returnsPerSecond is how many clients should reconnect per second.
const returnsPerSecond = 1000

// disconnect ends the session of a client, which reconnects when the server is back.
func (l *lobby) disconnect(ctx context.Context, c *round.Client) error {
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	sessions, _ := l.count()
	spread := 1 + sessions/returnsPerSecond
	return c.Session.Reconnect(ctx, int64(l.park/time.Second)+rand.Int64N(int64(spread)))
}

// drain waits until the clients have left, for a bounded time.
func (l *lobby) drain(bound time.Duration) {
	timer := time.NewTimer(bound)
	defer timer.Stop()
	for {
		if sessions, _ := l.count(); sessions == 0 {
			return
		}
		select {
		case <-l.left:
		case <-timer.C:
			return
		}
	}
}

// label returns the first label of the host that a client called, empty if clients are
// not routed by it.
func (l *lobby) label(peer flower.Peer) string {
	header := peer.Header
	if l.route != nil || header == nil {
		return ""
	}
	host := header(":authority")
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if net.ParseIP(strings.Trim(host, "[]")) != nil {
		return ""
	}
	label, _, _ := strings.Cut(host, ".")
	return label
}

// trainingID returns the id of the job in a client's properties; empty for any job.
func trainingID(ctx context.Context, session *flower.Session) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, propertiesTimeout)
	defer cancel()
	res, err := session.Properties(ctx, flower.GetPropertiesIns{})
	switch {
	case err == nil:
	case session.Err() != nil || ctx.Err() != nil:
		return "", err
	default:
		return "", nil // most clients have no properties
	}
	switch id := res.Properties["training_id"].(type) {
	case string:
		return id, nil
	case int64, uint64:
		return fmt.Sprint(id), nil
	}
	return "", nil
}
