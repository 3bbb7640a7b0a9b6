package flcollect

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/internal/notify"
)

// lobby serves the Flower clients of a server: it finds the job of each client, has it
// wait while there is none, and sends it away in the end. It is safe for concurrent use.
type lobby struct {
	jobs     *registry
	route    func(session *flower.Session) string // nil takes the host that the client called
	identify func(session *flower.Session) string // nil has no names
	noEdges  bool
	park     time.Duration
	ending   context.Context // of the server

	name     string
	address  string // where other servers reach this one
	relayTLS *tls.Config
	dial     func(ctx context.Context, target string) (net.Conn, error) // to other servers; nil means TCP
	log      *slog.Logger
	together *together // nil if the server is alone on its store; set before use

	mu       sync.Mutex
	sessions int
	waiting  int
	warned   map[string]bool // sessions of servers that were logged as out of reach
	left     chan struct{}   // has a token when a session has ended
}

func newLobby(jobs *registry, config Config, ending context.Context) *lobby {
	return &lobby{
		jobs: jobs, route: config.Route, identify: config.Identify, noEdges: config.NoEdges, park: config.Park, ending: ending,
		name: config.Name, address: config.Advertise, warned: map[string]bool{}, relayTLS: config.RelayTLS, log: config.Logger,
		left: make(chan struct{}, 1),
	}
}

// visitor is a client whose job is not known yet.
type visitor struct {
	*round.Client
	session *flower.Session
	job     string // the id of its job, if its property or Config.Route names it
	asked   bool   // for its properties

	last    *remote   // that it was relayed to
	failing time.Time // since when relays to it fail; zero if they do not
}

// propertiesTimeout bounds the request for the properties of a client.
const propertiesTimeout = 30 * time.Second

// handle serves a client until its session or its job ends.
func (l *lobby) handle(ctx context.Context, session *flower.Session) error {
	v := &visitor{Client: round.NewClient(session, round.Identity(session, l.identify)), session: session}
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

// join adds a client to the pool of its job, or returns its job at another server. Where
// there is none for it, the channel is closed when another job is started, and the client
// counts as waiting.
func (l *lobby) join(ctx context.Context, v *visitor) (*job, *remote, <-chan struct{}, error) {
	relayed := v.Peer.Relay
	if relayed != nil {
		v.job = relayed.Job
	} else if l.route != nil && !v.Edge() {
		if id := l.route(v.session); id != "" {
			v.job = id
		}
	}
	label := l.label(v.Peer)
	if v.job == "" && !v.asked && l.jobs.ambiguous(label) {
		v.asked = true
		id, err := trainingID(ctx, v.session)
		if err != nil {
			return nil, nil, nil, err
		}
		v.job = id
	}
	j, other, next := l.jobs.join(v.Client, v.job, label)
	if next != nil && relayed == nil {
		l.addWaiting(1)
	}
	return j, other, next, nil
}

// wait has a client wait until a job is started, or it leaves.
func (l *lobby) wait(ctx context.Context, c *round.Client, next <-chan struct{}) (over bool, err error) {
	defer l.addWaiting(-1)
	select {
	case <-l.ending.Done():
		return true, l.sendAway(ctx, c)
	case <-ctx.Done():
		return true, context.Cause(ctx)
	case <-next:
		return false, nil
	}
}

// keep keeps a client in the pool of its job until one of them ends.
func (l *lobby) keep(ctx context.Context, c *round.Client, j *job) (over bool, err error) {
	defer func() {
		j.pool.Remove(c)
		j.signal()
	}()
	select {
	case <-j.over:
		return true, l.dismiss(ctx, c, j)
	case <-l.ending.Done():
		return true, l.sendAway(ctx, c)
	case <-ctx.Done():
		return true, context.Cause(ctx)
	case <-j.done:
		select {
		case <-j.over: // both were ready
			return true, l.dismiss(ctx, c, j)
		default:
		}
		if l.ending.Err() != nil {
			return true, l.sendAway(ctx, c)
		}
		return false, nil // another server goes on with the job
	}
}

// dismiss ends the session of a client whose job has ended.
func (l *lobby) dismiss(ctx context.Context, c *round.Client, j *job) error {
	if j.abrupt {
		return l.dismissStopped(ctx, c, j.id)
	}
	return sendHome(ctx, c)
}

// dismissStopped ends the session of a client of a job that was stopped. An edge ends with an
// error; it would wait for the next run otherwise.
func (l *lobby) dismissStopped(ctx context.Context, c *round.Client, id string) error {
	if c.Edge() {
		return fmt.Errorf("%w: job %q was interrupted", flower.ErrUnfit, id)
	}
	return sendHome(ctx, c)
}

// sendHome ends the session of a client, which does not come back. Where the client carries
// out an instruction, it has a bounded time to answer.
func sendHome(ctx context.Context, c *round.Client) error {
	ctx, cancel := context.WithTimeout(ctx, dismissal)
	defer cancel()
	return c.Session.Reconnect(ctx, 0)
}

// returnsPerSecond is how many clients should reconnect in a second.
const returnsPerSecond = 1000

// sendAway sends a client away, to reconnect when the server is back.
func (l *lobby) sendAway(ctx context.Context, c *round.Client) error {
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
