package dp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/iotenablers/enablers/flcollect/strategy"
)

// Blurrer is an aggregation of updates that the server cannot read, such as
// encrypted ones, and which it can therefore neither measure nor clip, but can add
// noise to. If the inner strategy begins one, [Adaptive] relies on the clients for
// their clipping; see the package comment.
type Blurrer interface {
	strategy.Aggregation
	// Blur adds to every number of the sum of the updates, each times its examples,
	// independent Gaussian noise of a standard deviation, which is more than 0. It
	// is called once, after the last Add and before Finish. gaussian draws numbers
	// of the standard normal distribution and serves one goroutine at a time. After
	// an error the round has no model.
	Blur(ctx context.Context, deviation float64, gaussian func() float64) error
}

// sealed is the aggregation of a round whose updates cannot be read. The inner
// aggregation holds the sum.
type sealed struct {
	rules    *Adaptive
	inner    Blurrer
	round    strategy.Round
	clipNorm float64
	verdicts *strategy.Verdicts

	mu     sync.Mutex // guards the fields below
	count  int        // of clients
	within int        // clients that report an update within the clip norm
	closed bool
}

// Add implements [strategy.Aggregation].
func (s *sealed) Add(ctx context.Context, update strategy.Update) error {
	verdict := strategy.Verdict{Client: update.Client, Norm: math.NaN(), Bound: math.Inf(1), Outcome: strategy.Kept}
	err := s.add(ctx, update)
	switch {
	case errors.Is(err, strategy.ErrQuarantined):
		verdict.Outcome, verdict.Reason = strategy.Refused, err.Error()
	case err != nil:
		return err
	}
	s.verdicts.Note(verdict)
	return err
}

func (s *sealed) add(ctx context.Context, update strategy.Update) error {
	if update.Examples < 1 || update.Examples > strategy.MaxExamples {
		return refuse(update.Client, "num_examples is %d, not from 1 to %d", update.Examples, int64(strategy.MaxExamples))
	}
	bit, err := normBit(update)
	if err != nil {
		return err
	}
	update.Examples = 1
	if err := s.inner.Add(ctx, update); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	if bit {
		s.within++
	}
	return nil
}

// Finish implements [strategy.Aggregation]. The clip norm moves, and the round is
// accounted for when the inner strategy has made a model.
func (s *sealed) Finish(ctx context.Context) (strategy.Model, error) {
	s.mu.Lock()
	count, within, closed := s.count, s.within, s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil, strategy.ErrClosed
	}
	random, fraction, err := s.rules.measure(s.round, count, within)
	if err != nil {
		return nil, err
	}
	if s.rules.serverSide {
		if err := s.inner.Blur(ctx, s.rules.deviation(s.clipNorm), random.normal); err != nil {
			return nil, fmt.Errorf("finish round %d: %w", s.round.Number, err)
		}
	}
	return s.rules.conclude(ctx, s.round, s.inner, fraction)
}

// Close implements [strategy.Aggregation].
func (s *sealed) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	return s.inner.Close()
}
