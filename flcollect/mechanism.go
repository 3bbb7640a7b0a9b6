package flcollect

import (
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// averaging is the strategy of jobs whose clients encrypt their updates
// (specification section 4, rule 2).
const averaging = "FedAvg"

// aggregates returns the name of the strategy that aggregates the updates.
func (c Config) aggregates() string {
	if c.Homomorphic != nil {
		return averaging
	}
	return c.Strategy
}

// mechanisms returns the names of the privacy mechanisms.
func (c Config) mechanisms() []string {
	var names []string
	if c.DPAdaptive != nil {
		names = append(names, dp.Mechanism)
	}
	if c.Homomorphic != nil {
		names = append(names, homomorphic)
	}
	return names
}

// checkedSettings returns encryption parameters with their defaults, unless they
// leave the moduli open, or a *[ckks.FieldError].
func checkedSettings(s ckks.Settings) (ckks.Settings, error) {
	if s.Open() {
		err := s.Check()
		if s.Scheme != "" {
			s.Scheme = "CKKS" // in any case of letters
		}
		return s, err
	}
	parameters, err := ckks.NewParameters(s)
	if err != nil {
		return s, err
	}
	return parameters.Settings(), nil
}

// withMechanisms returns the configuration with the defaults of its encryption
// parameters, unless it leaves the moduli open, or what is wrong with its privacy mechanisms: a *[ckks.FieldError],
// or a *[strategy.FieldError].
func (c Config) withMechanisms() (Config, error) {
	if c.Homomorphic != nil {
		settings, err := checkedSettings(*c.Homomorphic)
		if err != nil {
			return c, err
		}
		if _, err := sampling(c.StrategyConf); err != nil {
			return c, err
		}
		c.Homomorphic = &settings
	}
	if c.DPAdaptive != nil {
		return c, dp.Check(c.aggregates(), c.DPAdaptive)
	}
	return c, nil
}

// sampling returns the rules of sampling and failures that the parameters of any
// strategy say; the others have no meaning for encrypted updates.
func sampling(conf strategy.Conf) (strategy.Policy, error) {
	pick := func(names ...string) strategy.Conf {
		picked := strategy.Conf{}
		for _, name := range names {
			if v := conf[name]; v != nil {
				picked[name] = v
			}
		}
		return picked
	}
	mean, err := strategy.New(averaging, pick("fraction_fit", "fraction_evaluate", "min_fit_clients",
		"min_evaluate_clients", "min_available_clients", "accept_failures"))
	if err != nil {
		return strategy.Policy{}, err
	}
	policy := mean.Policy()
	completion := pick("min_completion_rate_fit", "min_completion_rate_evaluate")
	tolerant, err := strategy.New("FaultTolerantFedAvg", completion)
	if err != nil {
		return strategy.Policy{}, err
	}
	if completion["min_completion_rate_fit"] != nil {
		policy.Fit.MinCompletion = tolerant.Policy().Fit.MinCompletion
	}
	if completion["min_completion_rate_evaluate"] != nil {
		policy.Evaluate.MinCompletion = tolerant.Policy().Evaluate.MinCompletion
	}
	return policy, nil
}

// makeStrategy returns the strategy of a configuration, with its privacy
// mechanisms.
func (s *Server) makeStrategy(ctx context.Context, config Config) (strategy.Strategy, error) {
	made, err := s.baseStrategy(ctx, config)
	if err != nil || config.DPAdaptive == nil {
		return made, err
	}
	private, err := dp.New(made, config.DPAdaptive, nil)
	if field := (*strategy.FieldError)(nil); errors.As(err, &field) && field.Field == "strategy" {
		err = &strategy.FieldError{Strategy: config.Strategy, Field: field.Field, Reason: field.Reason}
	}
	if err != nil {
		return nil, err
	}
	return private, nil
}

// baseStrategy returns the strategy that a configuration names. For encrypted
// updates it is not looked up: there is only their mean.
func (s *Server) baseStrategy(ctx context.Context, config Config) (strategy.Strategy, error) {
	switch {
	case config.Homomorphic != nil:
		settings := *config.Homomorphic
		if settings.Open() { // the training makes another once it has seen the keys
			settings = ckks.Settings{}
		}
		parameters, err := ckks.NewParameters(settings)
		if err != nil {
			return nil, err
		}
		policy, err := sampling(config.StrategyConf)
		if err != nil {
			return nil, err
		}
		return ckks.NewStrategy(parameters, policy, nil)
	case strategy.Known(config.Strategy):
		return strategy.New(config.Strategy, config.StrategyConf)
	case s.options.Strategies[config.Strategy] != nil:
		return s.registeredStrategy(config)
	case s.options.Repository == nil:
		return nil, fmt.Errorf("strategy %q: %w", config.Strategy, ErrNoStrategy)
	}
	made, err := s.options.Repository.Strategy(ctx, config.Strategy, config.StrategyConf)
	if err != nil {
		return nil, fmt.Errorf("strategy %q: %w: %w", config.Strategy, errRepository, err)
	}
	return made, nil
}
