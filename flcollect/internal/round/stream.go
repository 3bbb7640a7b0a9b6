package round

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// Streaming are the rules of a [Stream].
type Streaming struct {
	// Buffer is how many updates make a version, Concurrency how many clients train at
	// once, and Staleness the exponent of the weight of old updates.
	Buffer, Concurrency int
	Staleness           float64
	// Need is how many clients must be connected before a version begins.
	Need int
}

// Stream conducts the versions of an asynchronous job (FedBuff, Nguyen and others 2022,
// arXiv 2106.06639). Clients train all the time, each on the version that was the newest
// when it was sent. A client is drawn at most once for a version: neither a fast client
// nor one that fails fills a buffer alone.
//
// A version takes these calls, of one goroutine: Begin opens its buffer, and clients that
// are idle are sent the model; Wait returns when the buffer has its updates; Finish
// makes the version; Evaluate has the clients whose updates it has measure it. Answers that
// come between Finish and the next Begin wait for that.
type Stream struct {
	*Conductor
	rules Streaming
	life  context.Context // of instructions
	end   context.CancelCauseFunc
	group sync.WaitGroup

	mu       sync.Mutex
	newest   *version
	open     *buffer // nil while a version is made
	last     *buffer // of the version that was made last
	busy     map[*Client]bool
	training map[*version]int // clients that train on it, or whose update waits
	trains   int              // the sum of these
	moved    chan struct{}    // closed when something has changed
	fatal    error            // of which no client is the cause
	closed   bool
}

// version is a version of the model as clients are sent it. Number 0 is the initial one.
type version struct {
	number int
	model  strategy.Model
	ins    flower.FitIns
	bytes  int64
}

// Stream returns a stream of versions. Instructions end with the context. The caller
// closes the stream.
func (c *Conductor) Stream(ctx context.Context, rules Streaming) *Stream {
	s := &Stream{
		Conductor: c, rules: rules, busy: map[*Client]bool{}, training: map[*version]int{}, moved: make(chan struct{}),
	}
	s.life, s.end = context.WithCancelCause(ctx)
	return s
}

// Close gives up the instructions that are under way, and waits for what the stream has
// started. The sessions of the clients go on.
func (s *Stream) Close() {
	s.mu.Lock()
	s.closed = true
	s.signalLocked()
	s.mu.Unlock()
	s.end(flower.ErrSetAside)
	s.group.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != nil {
		s.open.sums.Close()
		s.open = nil
	}
}

// Begin opens the buffer of the version that has the number of start, and has clients
// train on its model, which is the newest version. Attempt records their answers.
func (s *Stream) Begin(start Start, attempt *audit.Attempt) error {
	v := &version{number: start.Number - 1, model: start.Model, ins: flower.FitIns{
		Parameters: s.config.Encryption.Encode(start.Model), Config: s.configure(start), Digest: attempt.Digests(),
	}}
	v.bytes = length(v.ins.Parameters)
	sums, err := s.begin(start, nil) // it may wait for clients for long
	if err != nil {
		return fmt.Errorf("begin the aggregation of version %d: %w", start.Number, err)
	}
	b := &buffer{
		fit:     fit{Conductor: s.Conductor, start: start, ins: v.ins, sums: sums},
		attempt: attempt, size: s.rules.Buffer, y: &tally{round: start.Number}, began: time.Now(), took: map[string]bool{},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newest, s.open = v, b
	s.fillLocked()
	s.signalLocked()
	return nil
}

// signalLocked says that something has changed.
func (s *Stream) signalLocked() {
	close(s.moved)
	s.moved = make(chan struct{})
}

// fillLocked sends idle clients the newest version, as many as may train at once.
func (s *Stream) fillLocked() {
	b := s.open
	if b == nil || s.closed || s.fatal != nil {
		return
	}
	if b.enough = b.enough || s.config.Pool.Len() >= s.rules.Need; !b.enough {
		return
	}
	free := func(c *Client) bool { return !s.busy[c] && !b.took[c.Name()] }
	for s.trains < s.rules.Concurrency {
		c, suspended := s.config.Pool.drawIdle(b.start.Number, s.config.Reputations, b.size, b.suspended, free)
		if c == nil {
			return
		}
		if suspended {
			b.suspended++
		}
		v := s.newest
		s.busy[c] = true
		s.training[v]++
		s.trains++
		b.y.Phase.Sent += v.bytes
		s.group.Go(func() { s.train(c, v) })
	}
}

// train has a client train on a version, and adds its update to the buffer that is open
// when it has arrived.
func (s *Stream) train(c *Client, v *version) {
	var res *flower.FitRes
	ctx, cancel := within(s.life, s.config.Timeout)
	defer cancel()
	_, failure := s.call(ctx, strategy.Fit, c, func(ctx context.Context) (none answer, err error) {
		res, err = c.Session.Fit(ctx, v.ins)
		return none, err
	})
	if res != nil {
		defer res.Release()
	}
	b := s.enter(failure != nil)
	if b == nil { // the stream was closed
		s.leave(c, v)
		return
	}
	staleness := b.start.Number - 1 - v.number
	got, err := s.take(b, c, v, staleness, res, failure)
	fatal := b.y.count(c, got, err)
	s.logFailure(b.start.Number, strategy.Fit, c, err)
	s.mu.Lock()
	b.settle(c, staleness, failure != nil, err)
	if fatal && s.fatal == nil {
		s.fatal = fmt.Errorf("version %d: %w", b.start.Number, b.y.fatal)
	}
	s.mu.Unlock()
	s.leave(c, v)
}

// take adds an answer to a buffer in which it has a place.
func (s *Stream) take(b *buffer, c *Client, v *version, staleness int, res *flower.FitRes, failure error) (got answer, err error) {
	part := b.attempt.Add(c.Identity, c.Peer.Label(), c.Name())
	part.Stale(staleness)
	defer func() { part.Answered(err) }()
	if failure != nil {
		return answer{}, failure
	}
	part.Received(res)
	var from *basis
	if staleness > 0 {
		from = &basis{v.model, staleWeight(staleness, s.rules.Staleness)}
	}
	return b.add(s.life, c, res, part, from)
}

// enter returns the buffer that takes an answer, for which it waits; nil once the stream
// is closed.
func (s *Stream) enter(failed bool) *buffer {
	for {
		s.mu.Lock()
		if s.closed || s.fatal != nil || s.life.Err() != nil || s.config.Ending.Err() != nil { // clients that were sent away did not fail
			s.mu.Unlock()
			return nil
		}
		if b := s.open; b.hasRoom(failed) {
			b.under++
			if !failed {
				b.places++
			}
			s.mu.Unlock()
			return b
		}
		moved := s.moved
		s.mu.Unlock()
		select {
		case <-moved:
		case <-s.life.Done():
			return nil
		case <-s.config.Ending.Done():
			return nil
		}
	}
}

// leave has a client be idle, and sends the newest version to others that are.
func (s *Stream) leave(c *Client, v *version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, c)
	s.trains--
	if s.training[v]--; s.training[v] == 0 {
		delete(s.training, v)
	}
	s.fillLocked()
	s.signalLocked()
}

// Wait returns true once the buffer has its updates, or once it has fewer and no client is
// left that could send one. It returns false as soon as other has something. The error
// matches [ErrInsufficient] if no client was there to train for too long.
func (s *Stream) Wait(ctx context.Context, other <-chan struct{}) (bool, error) {
	var timer *time.Timer
	var expired <-chan time.Time
	defer func() {
		if timer != nil {
			timer.Stop()
		}
	}()
	for {
		s.mu.Lock()
		s.fillLocked()
		b, fatal, moved := s.open, s.fatal, s.moved
		waits := len(s.busy) == 0 && b.under == 0 // for clients that are not there
		full := b.full() || b.exhausted() || waits && b.enough && b.y.failures() > 0
		s.mu.Unlock()
		switch {
		case s.config.Ending.Err() != nil:
			return false, context.Cause(s.config.Ending)
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case fatal != nil:
			return false, fatal
		case full:
			return true, nil
		case waits && timer == nil:
			timer = time.NewTimer(s.config.ClientTimeout)
			expired = timer.C
		case !waits && timer != nil:
			timer.Stop()
			timer, expired = nil, nil
		}
		select {
		case <-moved:
		case <-s.config.Pool.Moved():
		case <-other:
			return false, nil
		case <-expired:
			return false, fmt.Errorf("%w: %d of %d came within %v", ErrInsufficient, s.config.Pool.Len(), s.rules.Need, s.config.ClientTimeout)
		case <-s.config.Ending.Done():
		case <-ctx.Done():
		}
	}
}

// Await waits until as many clients are connected as the first version needs.
func (s *Stream) Await(ctx context.Context) error {
	timer := time.NewTimer(s.config.ClientTimeout)
	defer timer.Stop()
	for s.config.Pool.Len() < s.rules.Need {
		select {
		case <-s.config.Pool.Moved():
		case <-timer.C:
			return fmt.Errorf("%w: %d of %d came within %v", ErrInsufficient, s.config.Pool.Len(), s.rules.Need, s.config.ClientTimeout)
		case <-s.config.Ending.Done():
			return context.Cause(s.config.Ending)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Finish makes the version of the updates that the buffer has.
func (s *Stream) Finish(ctx context.Context) (*Result, *report.Version, error) {
	s.mu.Lock()
	b := s.open
	s.open = nil // what arrives from now on belongs to the next version
	for b.under > 0 {
		moved := s.moved
		s.mu.Unlock()
		<-moved
		s.mu.Lock()
	}
	s.last = b
	made := &report.Version{MaxStaleness: b.most, Training: s.trains, Kept: len(s.training)}
	if _, newest := s.training[s.newest]; newest {
		made.Kept--
	}
	s.mu.Unlock()
	defer b.sums.Close()
	if n := len(b.contributors); n > 0 {
		made.MeanStaleness = float64(b.stale) / float64(n)
	}
	b.close()
	if err := s.finish(ctx, b.y, b.sums, b.start); err != nil {
		return nil, nil, err
	}
	return &b.y.Result, made, nil
}
