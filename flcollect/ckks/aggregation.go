package ckks

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/iotenablers/enablers/flcollect/strategy"
)

// ErrNoRoom is returned when the examples of a round are so many that the sum would
// wrap around. It ends the round. Use fewer updates or smaller weights, a smaller
// scale, or more bits of moduli.
var ErrNoRoom = errors.New("ckks: no room for more examples")

// Aggregation is the aggregation of one round: a [strategy.Aggregation] of
// encrypted models whose sum can be blurred. Add and Close may be called
// concurrently with every method; Finish is called once, after the last Add.
// [Strategy.Begin] makes one.
type Aggregation struct {
	strategy *Strategy
	round    int

	mu       sync.Mutex
	closed   bool
	broken   error // the error that made the sums invalid
	form     []layer
	clients  map[string]bool
	examples int64
	stored   stored
	sums     [][]byte // the coefficients of every ciphertext of every layer
	codecs   []*codec // one for each worker
}

// Add adds an update. It does not change the update and does not refer to it after
// it returns. The error of a bad update matches [strategy.ErrQuarantined] and names
// client, layer, ciphertext and reason; such an update is no part of the result.
// [ErrNoRoom], an error of the context and [strategy.ErrClosed] leave the sums as
// they were, too.
func (a *Aggregation) Add(ctx context.Context, update strategy.Update) error {
	if update.Examples < 1 || update.Examples > strategy.MaxExamples {
		return refuse(update.Client,
			fmt.Errorf("%d examples are not from 1 to %d", update.Examples, int64(strategy.MaxExamples)))
	}
	if update.Examples > a.strategy.room {
		return refuse(update.Client,
			fmt.Errorf("%d examples are more than the %d that %s has room for", update.Examples, a.strategy.room,
				a.strategy.parameters))
	}
	form, ciphertexts, err := a.strategy.parameters.read(update.Model)
	if err != nil {
		return refuse(update.Client, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return strategy.ErrClosed
	case a.broken != nil:
		return a.broken
	case a.clients[update.Client]:
		return refuse(update.Client, errors.New("the client has sent an update in this round"))
	}
	if err := a.compare(form); err != nil {
		return refuse(update.Client, err)
	}
	if update.Examples > a.strategy.room-a.examples {
		return fmt.Errorf("add update of %q: %w: %d examples beside %d are more than the %d with which numbers up to "+
			"%g stay below half the moduli (%s)",
			update.Client, ErrNoRoom, update.Examples, a.examples, a.strategy.room, a.strategy.maxAbs, a.strategy.parameters)
	}
	return a.accept(ctx, update, form, ciphertexts)
}

// accept adds the ciphertexts of an update whose messages are valid.
func (a *Aggregation) accept(ctx context.Context, update strategy.Update, form []layer, ciphertexts []blob) error {
	if a.sums == nil {
		a.sums = make([][]byte, len(ciphertexts))
	}
	seen, place, err := a.fold(ctx, ciphertexts, update.Examples)
	if err != nil {
		if len(a.clients) == 0 {
			a.sums = nil
		}
		switch {
		case a.broken != nil:
			return a.broken
		case ctx.Err() != nil:
			return fmt.Errorf("add update of %q: %w", update.Client, context.Cause(ctx))
		}
		return refuse(update.Client, locate(form, place, err))
	}
	a.form = form
	a.clients[update.Client] = true
	a.examples += update.Examples
	a.stored = a.stored.join(seen)
	return nil
}

// compare returns an error if the layers differ from those of the round.
func (a *Aggregation) compare(form []layer) error {
	if a.form == nil {
		return nil
	}
	if len(form) != len(a.form) {
		return fmt.Errorf("%d layers, the model has %d", len(form), len(a.form))
	}
	for k, l := range form {
		if !l.equal(a.form[k]) {
			return fmt.Errorf("layer %d: %s, that of the model has %s", k, l, a.form[k])
		}
	}
	return nil
}

// Blur adds to every number of the sum, each update times its examples, independent
// Gaussian noise of a standard deviation, for a mechanism of differential privacy
// (see package comment). gaussian draws numbers of the standard normal distribution;
// it is called by one goroutine at a time, in an order that depends on nothing but
// the shapes. No key is needed. Blur is called before Finish; a later Add keeps the
// noise. The error matches [ErrNoRoom] if the sum with the noise might wrap around,
// and [strategy.ErrTooFew] without updates; the sum is then unchanged. After any
// other error, such as that of the context, there is no mean any more.
func (a *Aggregation) Blur(ctx context.Context, deviation float64, gaussian func() float64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return strategy.ErrClosed
	case a.broken != nil:
		return a.broken
	case len(a.clients) == 0:
		return fmt.Errorf("blur round %d: %w: there is none", a.round, strategy.ErrTooFew)
	}
	s := a.strategy
	room := s.parameters.reach() - float64(a.examples)*s.maxAbs
	switch {
	case !(deviation > 0):
		return fmt.Errorf("blur round %d: a standard deviation of %v is not positive", a.round, deviation)
	case !(deviation*(tail+1) <= room):
		return fmt.Errorf("blur round %d: %w: noise of deviation %g beside %d examples of numbers up to %g might "+
			"reach half the moduli (%s)",
			a.round, ErrNoRoom, deviation, a.examples, s.maxAbs, s.parameters)
	}
	if err := a.blur(ctx, deviation*s.parameters.scale, gaussian); err != nil {
		a.broken = fmt.Errorf("blur round %d: %w", a.round, err)
	}
	return a.broken
}

// Finish returns the mean. It shares no memory with updates. Without updates the error matches
// [strategy.ErrTooFew]; the model then stays unchanged.
func (a *Aggregation) Finish(ctx context.Context) (strategy.Model, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, strategy.ErrClosed
	}
	defer a.close()
	if a.broken != nil {
		return nil, a.broken
	}
	if len(a.clients) == 0 {
		return nil, fmt.Errorf("finish round %d: %w: there is none", a.round, strategy.ErrTooFew)
	}
	ciphertexts, err := a.encode(ctx)
	if err != nil {
		return nil, fmt.Errorf("finish round %d: %w", a.round, err)
	}
	model := make(strategy.Model, len(a.form))
	for k, l := range a.form {
		if model[k], err = toTensor(a.strategy.parameters.write(l, ciphertexts[:l.count])); err != nil {
			return nil, fmt.Errorf("finish round %d: layer %d: %w", a.round, k, err)
		}
		ciphertexts = ciphertexts[l.count:]
	}
	return model, nil
}

// Close releases the memory. It waits for a running Add or Finish, and may be
// called several times.
func (a *Aggregation) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.close()
	return nil
}

func (a *Aggregation) close() {
	a.closed = true
	a.sums = nil
	for _, c := range a.codecs {
		c.close()
	}
	a.codecs = nil
}

// refuse is the error of a bad update.
func refuse(client string, reason error) error {
	return fmt.Errorf("add update of %q: %w: %w", client, strategy.ErrQuarantined, reason)
}
