package ckks

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/iotenablers/enablers/flcollect/strategy"
)

// ErrNoRoom is returned where the examples of a round are so many that the sum
// would wrap around. It ends the round: fewer or lighter updates, a smaller scale or
// more bits of moduli are needed.
var ErrNoRoom = errors.New("ckks: no room for more examples")

// Round is what the aggregation of a round starts from.
type Round struct {
	// Number counts the rounds of a job from 1.
	Number int
	// Model is the encrypted model that the clients were sent, whose shapes the
	// updates must have. Nil where there is none yet: then the first update that is
	// accepted says which. It is not referred to after Begin.
	Model []Blob
}

// Update is what a client answers to a fit instruction.
type Update struct {
	// Client names the client. It is unique in a round.
	Client string
	// Examples is how many examples the client trained with, 1 to
	// [strategy.MaxExamples].
	Examples int64
	// Layers are its parameters of [Type]: a message a layer. They are read
	// until Add returns.
	Layers []Blob
}

// Aggregation is the aggregation of one round: that of [strategy.Aggregation] for
// encrypted models. Add and Close may be called concurrently with every method;
// Finish is called once, after the last Add. Make one with [Mean.Begin].
type Aggregation struct {
	mean  *Mean
	round int

	mu       sync.Mutex
	closed   bool
	broken   error // why the sums cannot be trusted any more
	form     []layer
	clients  map[string]bool
	examples int64
	stored   stored
	sums     [][]byte // the coefficients of every ciphertext of every layer
	codecs   []*codec // one a worker
}

// Begin starts the aggregation of a round. The error says what is wrong with the
// model.
func (m *Mean) Begin(round Round) (*Aggregation, error) {
	a := &Aggregation{mean: m, round: round.Number, clients: map[string]bool{}}
	for k, message := range round.Model {
		l, _, err := m.parameters.readMessage(message)
		if err != nil {
			return nil, fmt.Errorf("begin round %d: model: layer %d: %w", round.Number, k, err)
		}
		a.form = append(a.form, l)
	}
	for range m.workers {
		a.codecs = append(a.codecs, &codec{})
	}
	return a, nil
}

// Add takes in an update. When it returns it does not refer to the update any
// more, and has changed nothing in it. The error of a bad update matches
// [strategy.ErrQuarantined] and names client, layer, ciphertext and reason; such an
// update is no part of the result. [ErrNoRoom], an error of the context and
// [strategy.ErrClosed] leave the sums as they were, too.
func (a *Aggregation) Add(ctx context.Context, update Update) error {
	if update.Examples < 1 || update.Examples > strategy.MaxExamples {
		return refuse(update.Client, fmt.Errorf("%d examples are not from 1 to %d", update.Examples, int64(strategy.MaxExamples)))
	}
	if update.Examples > a.mean.room {
		return refuse(update.Client, fmt.Errorf("%d examples are more than the %d that %s has room for", update.Examples, a.mean.room, a.mean.parameters))
	}
	form, ciphertexts, err := a.mean.parameters.read(update.Layers)
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
	if update.Examples > a.mean.room-a.examples {
		return fmt.Errorf("add update of %q: %w: %d examples beside %d are more than the %d with which numbers up to %g stay below half the moduli (%s)",
			update.Client, ErrNoRoom, update.Examples, a.examples, a.mean.room, a.mean.maxAbs, a.mean.parameters)
	}
	return a.accept(ctx, update, form, ciphertexts)
}

// accept adds the ciphertexts of an update whose messages are in order.
func (a *Aggregation) accept(ctx context.Context, update Update, form []layer, ciphertexts []Blob) error {
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

// compare says how the layers differ from those of the round.
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

// Examples returns the sum of the examples of the updates so far.
func (a *Aggregation) Examples() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.examples
}

// Finish returns the mean, a message a layer, of [Type]. It shares no memory with
// updates. Without updates the error matches [strategy.ErrTooFew]; then the model
// stays as it was.
func (a *Aggregation) Finish(ctx context.Context) ([]Blob, error) {
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
	model := make([]Blob, len(a.form))
	for k, l := range a.form {
		model[k] = a.mean.parameters.write(l, ciphertexts[:l.count])
		ciphertexts = ciphertexts[l.count:]
	}
	return model, nil
}

// Close releases the memory. It waits for an Add or Finish that runs, and may be
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

// locate names the layer and the ciphertext that a place among all ciphertexts is.
func locate(form []layer, place int, err error) error {
	for k, l := range form {
		if place < l.count {
			return fmt.Errorf("layer %d: ciphertext %d: %w", k, place, err)
		}
		place -= l.count
	}
	return err
}

// read reads the messages of an update. The ciphertexts are those of all layers.
func (p *Parameters) read(layers []Blob) (form []layer, ciphertexts []Blob, err error) {
	if len(layers) == 0 {
		return nil, nil, errors.New("it has no layers")
	}
	for k, message := range layers {
		l, parts, err := p.readMessage(message)
		if err != nil {
			return nil, nil, fmt.Errorf("layer %d: %w", k, err)
		}
		form, ciphertexts = append(form, l), append(ciphertexts, parts...)
	}
	return form, ciphertexts, nil
}
