package flcollect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// errUnsound is matched by the error of a model that nobody should train.
var errUnsound = errors.New("unsound model")

// initial returns the parameters to begin with: those of the options, of the
// repository, or of a client, the first that has some. Encrypted ones are of a
// client.
func (t *training) initial(ctx context.Context) (strategy.Model, error) {
	var model strategy.Model
	ask := func(source func(ctx context.Context) (strategy.Model, error)) error {
		return t.persist(ctx, ofModel, func(ctx context.Context) (err error) {
			if model, err = source(ctx); err == nil {
				err = sound(model, nil)
			}
			return err
		})
	}
	if t.encrypts() {
		return t.borrow(ctx) // nobody else has the keys
	}
	if initial := t.server.options.Initial; initial != nil {
		err := ask(func(ctx context.Context) (strategy.Model, error) { return initial(ctx, t.config) })
		if !errors.Is(err, ErrNoModel) {
			return model, err
		}
	}
	if repository := t.server.options.Repository; repository != nil {
		err := ask(func(ctx context.Context) (strategy.Model, error) {
			return repository.Model(ctx, t.config.ModelName, t.config.ModelVersion)
		})
		if !errors.Is(err, ErrNoModel) {
			return model, err
		}
	}
	return t.borrow(ctx)
}

// borrow asks one client after the other for its model, in random order.
func (t *training) borrow(ctx context.Context) (strategy.Model, error) {
	wait := t.server.options.ClientTimeout
	if t.config.RoundTimeout > 0 {
		wait = min(wait, t.config.RoundTimeout)
	}
	timer := time.NewTimer(t.server.options.ClientTimeout)
	defer timer.Stop()
	defer t.trouble(ofModel, nil)
	last := errInsufficient
	for {
		c := t.untried()
		if t.server.ends() {
			return nil, ErrNotRunning
		}
		if c != nil {
			model, err := t.parametersOf(ctx, c.session, wait)
			if err == nil || ctx.Err() != nil {
				c.proven = err == nil
				return model, stoppedOr(ctx, err)
			}
			t.log.Info("client has no parameters", "client", short(c.session.ID(), maxClient), "error", short(err.Error(), maxReason))
			last = err
			if errors.Is(err, errOtherKeys) {
				return nil, err // nor will it be right while the others are waited for
			}
			if t.encrypts() { // it may be the configuration that is wrong
				t.trouble(ofModel, fmt.Errorf("client %q: %w", short(c.session.ID(), maxClient), err))
			}
			continue
		}
		select {
		case <-t.moved:
		case <-timer.C:
			return nil, fmt.Errorf("no client had any within %v: %w", t.server.options.ClientTimeout, last)
		case <-t.server.parking:
			return nil, ErrNotRunning
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// untried returns a random client that was not asked yet, nil if there is none.
func (t *training) untried() *client {
	s := t.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(t.pool) == 0 {
		return nil
	}
	start := rand.IntN(len(t.pool))
	for i := range t.pool {
		c := t.pool[(start+i)%len(t.pool)]
		if !c.tried && !isDone(c.session) {
			c.tried = true
			return c
		}
	}
	return nil
}

// parametersOf asks a client for its model.
func (t *training) parametersOf(ctx context.Context, session *flower.Session, wait time.Duration) (strategy.Model, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	res, err := session.Parameters(ctx, flower.GetParametersIns{})
	if err != nil {
		return nil, err
	}
	defer res.Release()
	received, err := t.decode(res.Parameters)
	if err != nil {
		return nil, err
	}
	if err := t.adopt(ctx, session.ID(), received); err != nil {
		return nil, err
	}
	if err := t.begins(received); err != nil {
		return nil, err
	}
	model := make(strategy.Model, len(received))
	for i, layer := range received { // its memory is that of the answer
		if model[i], err = tensor.New(layer.DType(), layer.Shape(), bytes.Join(layer.Chunks(), nil)); err != nil {
			return nil, err
		}
	}
	return model, nil
}

// sound returns nil for a model that has tensors, all of them finite, and the
// form of another, if one is given.
func sound(model, form strategy.Model) error {
	if len(model) == 0 {
		return fmt.Errorf("%w: it has no tensors", errUnsound)
	}
	if form != nil && len(model) != len(form) {
		return fmt.Errorf("%w: it has %d tensors instead of %d", errUnsound, len(model), len(form))
	}
	var piece [4096]float64
	for i, t := range model {
		if form != nil {
			if err := t.SameForm(form[i]); err != nil {
				return fmt.Errorf("%w: tensor %d: %w", errUnsound, i, err)
			}
		}
		if t.DType().IsInteger() {
			continue
		}
		for from := 0; from < t.Len(); from += len(piece) {
			values := piece[:min(len(piece), t.Len()-from)]
			t.ReadFloat64s(values, from)
			for k, v := range values {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					return fmt.Errorf("%w: element %d of tensor %d is %v", errUnsound, from+k, i, v)
				}
			}
		}
	}
	return nil
}
