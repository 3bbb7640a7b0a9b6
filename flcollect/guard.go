package flcollect

import (
	"context"
	"maps"
	"slices"

	"github.com/iotenablers/enablers/flcollect/strategy"
)

// How far an update may lie from the model by default: so far that clients whose
// data differ do not feel it, and that one client alone still cannot decide.
const (
	// DefaultNormFactor is the bound in medians of the round, or of the one before
	// where that is greater.
	DefaultNormFactor = 10
	// DefaultNormMinUpdates is how many updates that median has to be of.
	DefaultNormMinUpdates = 4
)

// judge is a strategy that says what became of every update.
type judge interface{ Verdicts() []strategy.Verdict }

// cutting are the parameters of norm bounding with which a job asks for updates to be
// cut.
var cutting = [...]string{"norm_bound", "norm_factor", "norm_refuse_factor"}

// guards reports whether the updates of a new training are measured, as far as its
// strategy does not do that itself.
func (s *Server) guards(config Config) bool {
	bounds, _ := strategy.TakeBounds(config.StrategyConf)
	return !s.options.TrustClients || len(bounds) > 0
}

// makeGuarded returns the strategy that a configuration names, with norm bounding
// around it where the training is guarded. A training stays guarded or not for as
// long as it goes on: what its checkpoints hold depends on it.
func (s *Server) makeGuarded(ctx context.Context, config Config, guarded bool) (strategy.Strategy, error) {
	bounds, rest := strategy.TakeBounds(config.StrategyConf)
	config.StrategyConf = rest
	made, err := s.makeStrategy(ctx, config)
	if err != nil {
		return nil, err
	}
	if _, judges := made.(judge); judges || config.Homomorphic != nil {
		if len(bounds) > 0 {
			first := slices.Sorted(maps.Keys(bounds))[0]
			return nil, &strategy.FieldError{Strategy: config.Strategy, Field: first, Reason: "has no meaning, for the strategy bounds updates itself or cannot read them"}
		}
		return made, nil
	}
	if !guarded {
		return made, nil
	}
	conf := strategy.Conf{
		"norm_factor": DefaultNormFactor, "norm_min_updates": DefaultNormMinUpdates,
		"norm_clip": s.options.Clip || slices.ContainsFunc(cutting[:], func(field string) bool { return bounds[field] != nil }),
	}
	for field, given := range bounds {
		if given != nil {
			conf[field] = given
		}
	}
	return strategy.NewBounded(made, conf)
}
