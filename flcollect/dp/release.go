package dp

import (
	"context"
	"fmt"
	"math"

	"github.com/iotenablers/enablers/flcollect/strategy"
)

// maxReleases bounds the rounds, and the charged releases, of a training.
const maxReleases = math.MaxInt32

// Privacy is the privacy account of a training.
type Privacy struct {
	// Epsilon and Delta are the guarantee for all releases so far.
	Epsilon, Delta float64
	// Budget is the largest allowed Epsilon, infinite if there is no bound.
	Budget float64
	// Rounds counts the rounds with a model.
	Rounds int
	// Charged counts the additional releases of [Adaptive.Charge].
	Charged int
	// ClipNorm is the norm that updates of the next round are clipped to.
	ClipNorm float64
	// Fraction is the share of clients within the clip norm of the last round,
	// with its noise; NaN before the first round.
	Fraction float64
	// Multiplier is the effective noise multiplier of the model.
	Multiplier float64
}

// Privacy returns the account of all releases so far.
func (a *Adaptive) Privacy() Privacy {
	a.mu.Lock()
	defer a.mu.Unlock()
	epsilon, _ := a.account.Epsilon()
	return Privacy{
		Epsilon: epsilon, Delta: a.delta, Budget: a.budget, Rounds: a.rounds, Charged: a.charged,
		ClipNorm: a.clip, Fraction: a.fraction, Multiplier: a.effective(),
	}
}

// Affords reports whether epsilon stays within the budget after n more rounds.
func (a *Adaptive) Affords(rounds int) bool {
	a.mu.Lock()
	account := a.account.Clone()
	a.mu.Unlock()
	if account.Spend(a.sampling, a.multiplier, rounds) != nil {
		return false
	}
	epsilon, _ := account.Epsilon()
	return epsilon <= a.budget
}

// Charge accounts for released models that the state does not include. A round's
// release becomes part of the state with Finish. A server that crashes after clients
// received the model and before it stored the state would not account for this
// release after its restart, and would release another model of the same round. So
// before it sends a model, a server durably stores the number of releases including
// this one, which is the sum of Rounds and Charged of [Adaptive.Privacy]; and after
// Restore it charges the difference. Charging does not affect the clip norm. It may
// exceed the budget, since a release cannot be undone; then no further round is
// possible. After a state that does not say how clients were drawn, it accounts for
// releases without sampling.
func (a *Adaptive) Charge(releases int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if releases < 0 || releases > maxReleases-a.charged {
		return fmt.Errorf("charge %s: %d releases beside %d are not from 0 to %d", Mechanism, releases, a.charged,
			maxReleases)
	}
	rate := a.sampling
	if a.older {
		rate = 1
	}
	if err := a.account.Spend(rate, a.multiplier, releases); err != nil {
		return err
	}
	if a.older {
		a.full += releases
	}
	a.charged += releases
	return nil
}

// measure returns the noise of a round and, with some of it, the share of its
// clients within the clip norm. It returns an error if there are too few
// clients.
func (a *Adaptive) measure(round strategy.Round, count, within int) (*noise, float64, error) {
	switch {
	case count == 0 && !a.samples():
		return nil, 0, fmt.Errorf("finish round %d: %w: there is none", round.Number, strategy.ErrTooFew)
	case !a.serverSide && count < a.sampled:
		return nil, 0, fmt.Errorf("finish round %d: %w: %d, whose noise is less than that of num_sampled_clients, %d",
			round.Number, strategy.ErrTooFew, count, a.sampled)
	}
	random, err := newNoise(a.random)
	if err != nil {
		return nil, 0, fmt.Errorf("finish round %d: %w", round.Number, err)
	}
	if a.samples() { // the count is secret; each client moves the sum of bits less 1/2 by 1/2
		excess := float64(within) - float64(count)/2
		return random, 0.5 + random.blur(excess, a.countNoise)/float64(a.sampled), nil
	}
	return random, random.blur(float64(within), a.countNoise) / float64(count), nil
}

// Sampling returns the probability with which each client is drawn for a round, and how
// many are expected to be: with a rate below 1 the sum of the updates is divided by that
// number, and otherwise by how many there are.
func (a *Adaptive) Sampling() (rate float64, expected int) { return a.sampling, a.sampled }

// conclude makes the model with the inner strategy and accounts for it.
func (a *Adaptive) conclude(ctx context.Context, round strategy.Round, inner strategy.Aggregation,
	fraction float64) (strategy.Model, error) {
	model, err := inner.Finish(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.spend(fraction); err != nil {
		return nil, fmt.Errorf("finish round %d: %w", round.Number, err)
	}
	return model, nil
}

// spend accounts for a round whose share of clients within the clip norm is
// known, and moves the clip norm.
func (a *Adaptive) spend(fraction float64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.account.Spend(a.sampling, a.multiplier, 1); err != nil {
		return err
	}
	a.rounds++
	a.fraction = fraction
	a.clip *= math.Exp(-a.rate * (fraction - a.quantile))
	a.clip = min(max(a.clip, leastClip), mostClip)
	return nil
}
