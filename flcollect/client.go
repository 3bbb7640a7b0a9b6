package flcollect

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// client is a session. All but the session belongs to the server's lock,
// unless it says otherwise.
type client struct {
	session *flower.Session
	// identity is what reputations know it by; it never changes.
	identity string
	wish     string // the job it is for, if it or Route says so
	asked    bool   // for its properties
	tried    bool   // for its parameters
	at       int    // its place in the pool of its job
	bound    bool
	// proven is whether the keys of an encrypting client were looked at. It belongs
	// to the training.
	proven bool
}

// propertiesTimeout bounds the question which job a client is for.
const propertiesTimeout = 30 * time.Second

// Handle serves a client; it is what flower.ServerConfig.Handle calls. The
// client belongs to one job for its session: to the one that Route names, or that
// its property "training_id" names where several are active, or else to the
// active one that lacks clients most, the oldest of several. While there is none
// it waits.
func (s *Server) Handle(ctx context.Context, session *flower.Session) error {
	c := &client{session: session, identity: s.identify(session)}
	s.enter()
	defer s.exit()
	for {
		j, next, err := s.bind(ctx, c)
		if err != nil {
			return err
		}
		if j != nil {
			return s.serve(ctx, c, j)
		}
		if over, err := s.wait(ctx, c, next); over {
			return err
		}
	}
}

// wait keeps a client in the lobby until a job is started, or it leaves.
func (s *Server) wait(ctx context.Context, c *client, next <-chan struct{}) (over bool, err error) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lobby--
	}()
	select {
	case <-s.parking:
		return true, s.park(ctx, c)
	case <-ctx.Done():
		return true, context.Cause(ctx)
	case <-next:
		return false, nil
	}
}

// serve keeps a client in the pool of its job until one of them ends.
func (s *Server) serve(ctx context.Context, c *client, j *job) error {
	defer s.unbind(j, c)
	select {
	case <-j.over:
		if j.abrupt {
			return fmt.Errorf("job %q was interrupted: %w", j.id, context.Canceled)
		}
		ctx, cancel := context.WithTimeout(ctx, dismissal)
		defer cancel()
		return c.session.Reconnect(ctx, 0)
	case <-s.parking:
		return s.park(ctx, c)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// returns is how many clients should come back in a second.
const returns = 1000

// park sends a client away until the server is back.
func (s *Server) park(ctx context.Context, c *client) error {
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	s.mu.Lock()
	spread := 1 + s.sessions/returns
	s.mu.Unlock()
	return c.session.Reconnect(ctx, int64(s.options.Park/time.Second)+rand.Int64N(int64(spread)))
}

func (s *Server) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions++
}

func (s *Server) exit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions--
	poke(s.left)
}

// bind puts a client into the pool of a job. Where there is none for it, the
// client is in the lobby, and the channel is closed when another job is started.
func (s *Server) bind(ctx context.Context, c *client) (*job, <-chan struct{}, error) {
	if s.options.Route != nil {
		if wish := s.options.Route(c.session); wish != "" {
			c.wish = wish
		}
	}
	if c.wish == "" && !c.asked && s.ambiguous(c) {
		c.asked = true
		wish, err := trainingID(ctx, c.session)
		if err != nil {
			return nil, nil, err
		}
		c.wish = wish
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.choose(c)
	if j == nil {
		s.lobby++
		return nil, s.changed, nil
	}
	c.at, c.bound = len(j.pool), true
	j.pool = append(j.pool, c)
	poke(j.moved)
	j.signal()
	return j, nil, nil
}

// ambiguous reports whether only the client can say which job it is for.
func (s *Server) ambiguous(c *client) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.labelled(c) != nil {
		return false
	}
	open := 0
	for _, j := range s.jobs {
		if j.open {
			open++
		}
	}
	return open > 1
}

// choose returns the job of a client. The lock is held.
func (s *Server) choose(c *client) *job {
	if c.wish != "" {
		if j := s.jobs[c.wish]; j != nil && j.open {
			return j
		}
		return nil
	}
	if j := s.labelled(c); j != nil {
		return j
	}
	var best *job
	for _, j := range s.jobs {
		if j.open && (best == nil || j.before(best)) {
			best = j
		}
	}
	return best
}

// labelled returns the active job whose id is the first label of the host that
// the client called, if that is how clients are routed. The lock is held.
func (s *Server) labelled(c *client) *job {
	if s.options.Route != nil {
		return nil
	}
	header := c.session.Peer().Header
	if header == nil {
		return nil
	}
	host := header(":authority")
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if net.ParseIP(strings.Trim(host, "[]")) != nil {
		return nil
	}
	label, _, _ := strings.Cut(host, ".")
	if j := s.jobs[label]; j != nil && j.open {
		return j
	}
	return nil
}

// trainingID asks a client which job it is for; empty is any.
func trainingID(ctx context.Context, session *flower.Session) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, propertiesTimeout)
	defer cancel()
	res, err := session.Properties(ctx, flower.GetPropertiesIns{})
	switch {
	case err == nil:
	case session.Err() != nil || ctx.Err() != nil:
		return "", err
	default:
		return "", nil // the client does not answer that, as most
	}
	switch id := res.Properties["training_id"].(type) {
	case string:
		return id, nil
	case int64, uint64:
		return fmt.Sprint(id), nil
	}
	return "", nil
}

// unbind takes a client out of the pool of its job.
func (s *Server) unbind(j *job, c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(j, c)
}

// remove does the work of unbind, once. The lock is held.
func (s *Server) remove(j *job, c *client) {
	if !c.bound {
		return
	}
	last := len(j.pool) - 1
	j.pool[c.at] = j.pool[last]
	j.pool[c.at].at = c.at
	j.pool[last] = nil
	j.pool = j.pool[:last]
	c.bound = false
	poke(j.moved)
	j.signal()
}

// draw returns the clients of a phase of a round, uniformly and without
// repetition, and what is odd about them; or nil and how many must be connected,
// where fewer are.
func (s *Server) draw(j *job, policy strategy.Policy, phase strategy.Phase, round int) (drawn []*client, note string, have, need int) {
	suspended := j.reputations.any(round)
	s.mu.Lock()
	defer s.mu.Unlock()
	if suspended {
		return s.drawTrusted(j, policy, phase, round)
	}
	for {
		have = len(j.pool)
		count := policy.Sample(phase, have)
		if count == 0 {
			return nil, "", have, 0
		}
		need = max(count, policy.MinAvailable)
		if have < need {
			return nil, "", have, need
		}
		if drawn, whole := s.shuffle(j, count); whole {
			return drawn, "", have, need
		}
	}
}

// shuffle draws clients. It removes those that have left and are about to say so,
// and then reports false. The lock is held.
func (s *Server) shuffle(j *job, count int) (drawn []*client, whole bool) {
	whole = true
	for i := 0; i < min(count, len(j.pool)); {
		k := i + rand.IntN(len(j.pool)-i)
		j.pool[i], j.pool[k] = j.pool[k], j.pool[i]
		j.pool[i].at, j.pool[k].at = i, k
		if isDone(j.pool[i].session) {
			s.remove(j, j.pool[i])
			whole = false
			continue
		}
		i++
	}
	return slices.Clone(j.pool[:min(count, len(j.pool))]), whole
}

func isDone(session *flower.Session) bool {
	select {
	case <-session.Done():
		return true
	default:
		return false
	}
}

// poke puts a token into a channel with room for one.
func poke(channel chan struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}
