package job

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// initial returns the parameters to begin with: those of the program, of the repository,
// or of a client, the first that has some. Encrypted parameters are those of a client.
func (t *training) initial(ctx context.Context) (strategy.Model, error) {
	var model strategy.Model
	ask := func(source func(ctx context.Context) (strategy.Model, []string, error)) error {
		return t.retry(ctx, ofModel, func(ctx context.Context) (err error) {
			if model, t.layers, err = source(ctx); err == nil {
				err = round.Sound(model, nil)
			}
			if err == nil {
				err = t.checkLayers(model)
			}
			return err
		})
	}
	if t.encryption != nil {
		return t.borrow(ctx) // only clients have the keys
	}
	for _, source := range t.service.Models {
		err := ask(func(ctx context.Context) (strategy.Model, []string, error) { return source(ctx, t.config) })
		if !errors.Is(err, ErrNoModel) {
			return model, err
		}
	}
	return t.borrow(ctx)
}

// maxLayers bounds the names of a model's layers, in bytes.
const maxLayers = 1 << 20

// namesLayers reports whether the job sends the layers of its model by their names.
func (t *training) namesLayers() bool {
	return t.config.App != "" && t.config.Records == jobconfig.Arrays
}

// checkLayers checks the names of the layers, and forgets them in a job that needs none.
func (t *training) checkLayers(model strategy.Model) error {
	if !t.namesLayers() && t.local == nil {
		t.layers = nil
	}
	if t.layers == nil {
		return nil
	}
	if len(t.layers) != len(model) {
		return fmt.Errorf("%w: it has %d layers and %d names", round.ErrUnsound, len(model), len(t.layers))
	}
	size, seen := 0, map[string]bool{}
	for _, name := range t.layers {
		if size += len(name); size > maxLayers {
			return fmt.Errorf("%w: the names of its layers have more than %d bytes", round.ErrUnsound, maxLayers)
		}
		if seen[name] || name == "" || !utf8.ValidString(name) {
			return fmt.Errorf("%w: %q is the name of two layers, or cannot be one", round.ErrUnsound, excerpt.Client(name))
		}
		seen[name] = true
	}
	return nil
}

// borrow asks one client after the other for its model, in random order. Where none has one
// and there are enough of them, it has one train without.
func (t *training) borrow(ctx context.Context) (strategy.Model, error) {
	wait := t.service.ClientTimeout
	if t.config.RoundTimeout > 0 {
		wait = min(wait, t.config.RoundTimeout)
	}
	timer := time.NewTimer(t.service.ClientTimeout)
	defer timer.Stop()
	defer t.trouble(ofModel, nil)
	t.trouble(ofModel, t.borrowing())
	last := round.ErrInsufficient
	var lacking []*round.Client // that have no parameters
	for {
		c, ask, trains := t.pool.Untried(), t.takeParameters, false
		if _, need := t.demand(); c == nil && len(lacking) > 0 && t.pool.Len() >= need {
			c, ask, trains = lacking[0], t.bootstrap, true
			lacking = lacking[1:]
		}
		if t.service.Ending.Err() != nil {
			return nil, ErrNotRunning
		}
		if c != nil {
			model, err := ask(ctx, c, wait)
			if err == nil || ctx.Err() != nil {
				c.Proven = err == nil
				return model, persist.StoppedOr(ctx, err)
			}
			if errors.Is(err, round.ErrNoParameters) && !trains {
				lacking = append(lacking, c)
			}
			t.log.Info("client has no parameters", "client", excerpt.Client(c.Name()), "error", excerpt.Reason(err))
			last = err
			if errors.Is(err, round.ErrOtherKeys) {
				return nil, err // other clients would not change it
			}
			t.trouble(ofModel, fmt.Errorf("client %q: %w", excerpt.Client(c.Name()), err))
			continue
		}
		select {
		case <-t.pool.Moved():
		case <-timer.C:
			return nil, fmt.Errorf("no client had any within %v: %w", t.service.ClientTimeout, last)
		case <-t.service.Ending.Done():
			return nil, ErrNotRunning
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// takeParameters returns the model of a client, from whose keys the job takes the
// encryption parameters that it leaves open.
func (t *training) takeParameters(ctx context.Context, c *round.Client, wait time.Duration) (strategy.Model, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	ins := flower.GetParametersIns{}
	if len(t.config.LocalLayers) > 0 {
		ins.Config = flower.Config{round.LocalField: strings.Join(t.config.LocalLayers, ",")}
	}
	res, err := c.Session.Parameters(ctx, ins)
	if err != nil {
		return nil, round.Lacking(nil, err)
	}
	defer res.Release()
	received, err := t.encryption.Decode(res.Parameters)
	if err = round.Lacking(received, err); err != nil {
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

// bootstrap has a client train the model to begin with.
func (t *training) bootstrap(ctx context.Context, c *round.Client, wait time.Duration) (strategy.Model, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	model, err := t.conductor.Bootstrap(ctx, c)
	if err == nil {
		t.note(func(r *Record) { r.Origin = excerpt.Client(c.Name()) })
	}
	return model, err
}
