package flcollect

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/iotenablers/enablers/flcollect/strategy"
)

// checkStrategies returns what is wrong with the strategies of the program. A name
// means one thing, so none may be that of a built-in one.
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

// registeredStrategy makes a strategy of the program. Whatever it has against the
// parameters, another try would fail as well.
func (s *Server) registeredStrategy(config Config) (strategy.Strategy, error) {
	conf := strategy.Conf{}
	maps.Copy(conf, config.StrategyConf)
	made, err := s.options.Strategies[config.Strategy](conf)
	var field *strategy.FieldError
	switch {
	case errors.As(err, &field):
		return nil, err
	case err != nil:
		return nil, &strategy.FieldError{Strategy: config.Strategy, Field: "strategy", Reason: err.Error()}
	case made == nil:
		return nil, &strategy.FieldError{Strategy: config.Strategy, Field: "strategy", Reason: "the program made none"}
	}
	return made, nil
}
