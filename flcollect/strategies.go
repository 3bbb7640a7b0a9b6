package flcollect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/internal/conf"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// How far an update may lie from the model by default: so far that clients whose data
// differ are not affected, and that one client alone still cannot decide.
const (
	// DefaultNormFactor is the bound in medians of the round, or of the one before
	// where that is greater.
	DefaultNormFactor = 10
	// DefaultClipFactor is the bound where updates are cut because the server or the job
	// says so without naming a bound: closer, so that one of eight clients moves the
	// model by less than half of an update.
	DefaultClipFactor = 3
	// DefaultNormMinUpdates is the least number of updates for that median.
	DefaultNormMinUpdates = 4
)

// cutting are the parameters of norm bounding with which a job requests that updates are
// cut.
var cutting = [...]string{"norm_bound", "norm_factor", "norm_refuse_factor"}

// strategies creates the strategies of jobs.
type strategies struct {
	registered map[string]func(strategy.Conf) (strategy.Strategy, error)
	repository Repository // nil if none exists
	clip       bool       // whether updates are cut unless a job says otherwise
	trust      bool       // whether updates are measured only where a job requests it
}

func newStrategies(config Config) strategies {
	return strategies{
		registered: config.Strategies, repository: config.Repository, clip: config.Clip, trust: config.TrustClients,
	}
}

// checkStrategies returns the errors of the strategies of the program. A name has one
// meaning, so none may be that of a built-in strategy.
func checkStrategies(registered map[string]func(strategy.Conf) (strategy.Strategy, error)) error {
	var err error
	for _, name := range slices.Sorted(maps.Keys(registered)) {
		reason := ""
		switch {
		case name == "":
			reason = "has no name"
		case strategy.Known(name):
			reason = "has the name of a built-in one"
		case registered[name] == nil:
			reason = "is nil"
		default:
			continue
		}
		err = errors.Join(err, fmt.Errorf("configure training collector: Strategies: %q %s", name, reason))
	}
	return err
}

// guards reports whether the updates of a new training are measured, unless its strategy
// does that itself.
func (s strategies) guards(config jobconfig.Config) bool {
	bounds, _ := strategy.TakeBounds(config.StrategyConf)
	return !s.trust || len(bounds) > 0
}

// make returns the strategy of a configuration, with its privacy mechanisms, and with
// norm bounding around it if the training is guarded. A training stays guarded or not
// for as long as it goes on: the content of its checkpoints depends on it.
func (s strategies) make(ctx context.Context, config jobconfig.Config, guarded bool) (strategy.Strategy, error) {
	bounds, rest := strategy.TakeBounds(config.StrategyConf)
	config.StrategyConf = rest
	selected, err := s.private(ctx, config)
	if err != nil {
		return nil, err
	}
	if _, judges := selected.(audit.Judging); judges || config.Homomorphic != nil || config.SecAgg != nil {
		if len(bounds) > 0 {
			first := slices.Sorted(maps.Keys(bounds))[0]
			return nil, &strategy.FieldError{
				Strategy: config.Strategy, Field: first,
				Reason: "has no meaning, for the strategy bounds updates itself or cannot read them",
			}
		}
		return selected, nil
	}
	if !guarded {
		return selected, nil
	}
	named := slices.ContainsFunc(cutting[:], func(field string) bool { return bounds[field] != nil })
	clips := conf.NewReader(bounds).Truth("norm_clip", s.clip || named)
	guard := strategy.Conf{"norm_factor": DefaultNormFactor, "norm_min_updates": DefaultNormMinUpdates, "norm_clip": clips}
	if clips && !named {
		guard["norm_factor"], guard["norm_taper"] = DefaultClipFactor, true
	}
	for field, given := range bounds {
		if given != nil {
			guard[field] = given
		}
	}
	return strategy.NewBounded(selected, guard)
}

// private returns the strategy of a configuration, with its privacy mechanisms.
func (s strategies) private(ctx context.Context, config jobconfig.Config) (strategy.Strategy, error) {
	selected, err := s.named(ctx, config)
	if err != nil || config.DPAdaptive == nil {
		return selected, err
	}
	private, err := dp.New(selected, config.DPAdaptive, nil)
	if field := (*strategy.FieldError)(nil); errors.As(err, &field) && field.Field == "strategy" {
		err = &strategy.FieldError{Strategy: config.Strategy, Field: field.Field, Reason: field.Reason}
	}
	if err != nil {
		return nil, err
	}
	return private, nil
}

// named returns the strategy that a configuration names. Encrypted updates have only
// their mean, whatever the name.
func (s strategies) named(ctx context.Context, config jobconfig.Config) (strategy.Strategy, error) {
	switch {
	case config.Homomorphic != nil:
		settings := *config.Homomorphic
		if settings.Open() { // the training creates another strategy once the keys are known
			settings = ckks.Settings{}
		}
		parameters, err := ckks.NewParameters(settings)
		if err != nil {
			return nil, err
		}
		policy, err := jobconfig.Sampling(config.StrategyConf)
		if err != nil {
			return nil, err
		}
		return ckks.NewStrategy(parameters, policy, nil)
	case strategy.Known(config.Strategy):
		return strategy.New(config.Strategy, parameters(config))
	case s.registered[config.Strategy] != nil:
		return s.registeredStrategy(config)
	case s.repository == nil:
		return nil, fmt.Errorf("strategy %q: %w", config.Strategy, ErrNoStrategy)
	}
	selected, err := s.repository.Strategy(ctx, config.Strategy, config.StrategyConf)
	if err != nil {
		return nil, fmt.Errorf("strategy %q: %w: %w", config.Strategy, ErrRepository, err)
	}
	return selected, nil
}

// correctsByDefault reports whether a job has the bias correction of FedAdam although its
// configuration does not mention it: with an app, whose SuperNodes are of Flower 1.13 or
// newer, and would get it from their own server. Other clients do not tell their release.
func correctsByDefault(config jobconfig.Config) bool {
	return config.Homomorphic == nil && config.Strategy == "FedAdam" && config.App != "" && config.StrategyConf["bias_correction"] == nil
}

// parameters returns the parameters of a built-in strategy.
func parameters(config jobconfig.Config) strategy.Conf {
	if !correctsByDefault(config) {
		return config.StrategyConf
	}
	given := strategy.Conf{}
	maps.Copy(given, config.StrategyConf)
	given["bias_correction"] = true
	return given
}

// registeredStrategy returns a strategy of the program. Its error is final: another try would fail
// as well.
func (s strategies) registeredStrategy(config jobconfig.Config) (strategy.Strategy, error) {
	given := strategy.Conf{}
	maps.Copy(given, config.StrategyConf)
	selected, err := s.registered[config.Strategy](given)
	var field *strategy.FieldError
	switch {
	case errors.As(err, &field):
		return nil, err
	case err != nil:
		return nil, &strategy.FieldError{Strategy: config.Strategy, Field: "strategy", Reason: err.Error()}
	case selected == nil:
		return nil, &strategy.FieldError{Strategy: config.Strategy, Field: "strategy", Reason: "the program returned none"}
	}
	return selected, nil
}

// Strategies describes the strategies that jobs can select without a repository: the
// built-in ones, and then those of the program, whose parameters are not known.
func (s *Server) Strategies() []strategy.Description {
	var all []strategy.Description
	for _, name := range strategy.Names() {
		if d, ok := strategy.Describe(name); ok {
			all = append(all, d)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.strategies.registered)) {
		all = append(all, strategy.Description{Name: name, Meaning: "A strategy of this program."})
	}
	return all
}
