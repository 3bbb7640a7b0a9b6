package flcollect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// initial returns the parameters to begin with: those of the program, of the repository,
// or of a client, the first that has some. Encrypted parameters are those of a client.
func (t *training) initial(ctx context.Context) (strategy.Model, error) {
	var model strategy.Model
	ask := func(source func(ctx context.Context) (strategy.Model, error)) error {
		return t.retry(ctx, ofModel, func(ctx context.Context) (err error) {
			if model, err = source(ctx); err == nil {
				err = round.Sound(model, nil)
			}
			return err
		})
	}
	if t.encryption != nil {
		return t.borrow(ctx) // only clients have the keys
	}
	if initial := t.server.config.Initial; initial != nil {
		err := ask(func(ctx context.Context) (strategy.Model, error) { return initial(ctx, t.config) })
		if !errors.Is(err, ErrNoModel) {
			return model, err
		}
	}
	if repository := t.server.config.Repository; repository != nil {
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
	wait := t.server.config.ClientTimeout
	if t.config.RoundTimeout > 0 {
		wait = min(wait, t.config.RoundTimeout)
	}
	timer := time.NewTimer(t.server.config.ClientTimeout)
	defer timer.Stop()
	defer t.trouble(ofModel, nil)
	last := round.ErrInsufficient
	for {
		c := t.pool.Untried()
		if t.server.ending.Err() != nil {
			return nil, ErrNotRunning
		}
		if c != nil {
			model, err := t.parametersOf(ctx, c, wait)
			if err == nil || ctx.Err() != nil {
				c.Proven = err == nil
				return model, persist.StoppedOr(ctx, err)
			}
			t.log.Info("client has no parameters", "client", excerpt.Client(c.Name()), "error", excerpt.Reason(err))
			last = err
			if errors.Is(err, round.ErrOtherKeys) {
				return nil, err // other clients would not change it
			}
			if t.encryption != nil { // the configuration may be wrong
				t.trouble(ofModel, fmt.Errorf("client %q: %w", excerpt.Client(c.Name()), err))
			}
			continue
		}
		select {
		case <-t.pool.Moved():
		case <-timer.C:
			return nil, fmt.Errorf("no client had any within %v: %w", t.server.config.ClientTimeout, last)
		case <-t.server.ending.Done():
			return nil, ErrNotRunning
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// parametersOf returns the model of a client, from whose keys the job takes the
// encryption parameters that it leaves open.
func (t *training) parametersOf(ctx context.Context, c *round.Client, wait time.Duration) (strategy.Model, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	ins := flower.GetParametersIns{}
	if t.local != nil {
		ins.Config = flower.Config{round.LocalField: strings.Join(t.config.LocalLayers, ",")}
	}
	res, err := c.Session.Parameters(ctx, ins)
	if err != nil {
		return nil, err
	}
	defer res.Release()
	received, err := t.encryption.Decode(res.Parameters)
	if err != nil {
		return nil, err
	}
	if err := t.adoptKeys(ctx, c.Name(), received); err != nil {
		return nil, err
	}
	if err := t.encryption.CheckInitial(received); err != nil {
		return nil, err
	}
	return round.Owned(received) // its memory is that of the answer
}
