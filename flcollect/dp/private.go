package dp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// slack is the share by which an update may exceed the clip norm before it is
// clipped: an update that its client has clipped and rounded to 32 bits may be a
// little longer. The noise is calibrated to that length.
const slack = 0x1p-10

// privateMean is the name of the one client that the inner strategy gets.
const privateMean = "private mean"

// private is the aggregation of a round: the exact sum of the clipped updates,
// blurred once.
type private struct {
	rules    *Adaptive
	inner    strategy.Aggregation
	round    strategy.Round
	clipNorm float64
	bound    float64 // the norm that longer updates are clipped to
	verdicts *strategy.Verdicts

	mu      sync.Mutex // guards the fields below
	clients map[string]bool
	within  int // clients within the clip norm
	sum     *strategy.Sum
	closed  bool
}

// Add implements [strategy.Aggregation].
func (p *private) Add(_ context.Context, update strategy.Update) error {
	verdict := strategy.Verdict{Client: update.Client, Norm: math.NaN(), Bound: p.bound}
	err := p.add(update, &verdict)
	switch {
	case errors.Is(err, strategy.ErrQuarantined):
		verdict.Outcome, verdict.Reason = strategy.Refused, err.Error()
	case err != nil:
		return err
	}
	p.verdicts.Note(verdict)
	return err
}

func (p *private) add(update strategy.Update, verdict *strategy.Verdict) error {
	if err := checkForm(update, p.round.Model, !p.rules.serverSide); err != nil {
		return err
	}
	bit, err := normBit(update)
	if err != nil {
		return err
	}
	norm, err := distance(update, p.round.Model)
	if err != nil {
		return err
	}
	scale := 1.0
	verdict.Norm, verdict.Outcome = norm, strategy.Kept
	if norm > p.bound {
		scale, bit = p.bound/norm, false
		verdict.Outcome = strategy.Clipped
		verdict.Reason = fmt.Sprintf("its norm is %.4g, the bound %.4g: the client has not clipped it", norm, p.bound)
	}
	sum, err := p.enter(update.Client)
	if err != nil {
		return err
	}
	if err := addScaled(sum, update.Model, p.round.Model, scale); err != nil {
		p.leave(update.Client)
		return refuse(update.Client, "%w", err)
	}
	if bit {
		p.mu.Lock()
		p.within++
		p.mu.Unlock()
	}
	return nil
}

// addScaled adds to the sum the model at a share of the way from base to model.
// After an error the sum is unchanged.
func addScaled(sum *strategy.Sum, model, base strategy.Model, share float64) error {
	if err := sum.Add(model, share); err != nil {
		return err
	}
	if share == 1 {
		return nil
	}
	err := sum.Add(base, 1-share)
	if err != nil {
		if again := sum.Add(model, -share); again != nil {
			panic("dp: numbers changed while they were summed: " + again.Error())
		}
	}
	return err
}

// enter registers a client and returns the sum that its update is added to.
func (p *private) enter(client string) (*strategy.Sum, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, strategy.ErrClosed
	}
	if p.clients[client] {
		return nil, refuse(client, "the client has sent an update in this round")
	}
	p.clients[client] = true
	return p.sum, nil
}

// leave removes a client whose update was refused.
func (p *private) leave(client string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.clients, client)
}

// seal ends the adding and returns the sum, the number of updates, and how many
// of them were within the clip norm.
func (p *private) seal() (sum *strategy.Sum, count, within int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, 0, 0, strategy.ErrClosed
	}
	p.closed = true
	return p.sum, len(p.clients), p.within, nil
}

// Finish implements [strategy.Aggregation]. The clip norm moves, and the round is
// accounted for when the inner strategy has made a model.
func (p *private) Finish(ctx context.Context) (strategy.Model, error) {
	sum, count, within, err := p.seal()
	if err != nil {
		return nil, err
	}
	random, fraction, err := p.rules.measure(p.round, count, within)
	if err != nil {
		return nil, err
	}
	mean, err := p.mean(ctx, sum, count, random)
	sum.Release() // not by Close, which may be called meanwhile
	if err != nil {
		return nil, fmt.Errorf("finish round %d: %w", p.round.Number, err)
	}
	if err := p.inner.Add(ctx, strategy.Update{Client: privateMean, Examples: 1, Model: mean}); err != nil {
		return nil, fmt.Errorf("finish round %d: hand the private mean on: %w", p.round.Number, err)
	}
	return p.rules.conclude(ctx, p.round, p.inner, fraction)
}

// mean returns the mean of n updates. If the server adds the noise, it adds it
// to the difference of the mean from the model. With sampling, n is secret, and that
// difference is the sum of the clients' differences over the number that is expected.
func (p *private) mean(ctx context.Context, sum *strategy.Sum, count int, random *noise) (strategy.Model, error) {
	divisor, surplus := float64(count), 0. // surplus is how often the sum has the model beyond once in the mean
	if p.rules.samples() {
		divisor = float64(p.rules.sampled)
		surplus = float64(count)/divisor - 1
	}
	deviation := p.rules.deviation(p.clipNorm) / divisor
	made := make(strategy.Model, len(p.round.Model))
	values, before := make([]float64, 4096), make([]float64, 4096)
	for layer, t := range p.round.Model {
		builder := tensor.NewBuilder(t.DType(), t.Shape())
		for from := 0; from < t.Len(); from += len(values) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			n := min(len(values), t.Len()-from)
			sum.Read(values[:n], layer, from)
			t.ReadFloat64s(before[:n], from)
			for i, x := range before[:n] {
				values[i] = values[i]/divisor - surplus*x
				if p.rules.serverSide {
					values[i] = x + random.blur(values[i]-x, deviation)
				}
			}
			builder.Write(values[:n], from)
		}
		made[layer] = builder.Tensor()
	}
	return made, nil
}

// Close implements [strategy.Aggregation].
func (p *private) Close() error {
	p.mu.Lock()
	p.closed, p.sum = true, nil
	p.mu.Unlock()
	return p.inner.Close()
}
