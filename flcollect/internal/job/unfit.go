package job

import (
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/supernode"
)

// CheckAsync returns the error of an asynchronous job whose strategy, which may be one of
// the repository, cannot aggregate updates of several versions.
func CheckAsync(config jobconfig.Config, selected strategy.Strategy) error {
	if config.Async != nil && strategy.NeedsOneBase(selected) {
		return refuseAsync("the strategy weighs updates by the loss of the model that all of them begin with, and here there are several")
	}
	return nil
}

// refuseAsync returns the error of a job that cannot be asynchronous.
func refuseAsync(reason string) error {
	path := []any{"server_conf", "async"}
	return &jobconfig.Error{Faults: []jobconfig.Fault{{Path: path, Kind: jobconfig.Invalid, Reason: reason}}}
}

// CheckEdge returns the error of a job that cannot be an edge, a *[strategy.FieldError] or a
// *[jobconfig.Error].
func CheckEdge(config jobconfig.Config, selected strategy.Strategy) error {
	if config.Async != nil {
		return refuseAsync("has no meaning at a collector with an upper one, which decides on the rounds")
	}
	if config.App != "" && config.Records == jobconfig.Arrays {
		return &jobconfig.Error{Faults: []jobconfig.Fault{{Path: []any{"server_conf", "records"}, Kind: jobconfig.Invalid,
			Reason: "must be fitins at a collector with an upper one, whose instructions have no names of layers"}}}
	}
	if err := mergesSums(config, selected); err != nil {
		return &strategy.FieldError{Strategy: config.Strategy, Field: "strategy",
			Reason: "cannot be that of a collector with an upper one: " + err.Error()}
	}
	return nil
}

// mergesSums returns nil if a job can be part of a tree of collectors, and otherwise the
// reason why not.
func mergesSums(config jobconfig.Config, selected strategy.Strategy) error {
	if names := config.Mechanisms(); len(names) > 0 {
		return fmt.Errorf("the privacy mechanism %q needs the update of every client, and a sum does not have them", names[0])
	}
	if config.Async != nil {
		return errors.New("each update of an asynchronous job has a weight of its own, which a sum does not have")
	}
	return strategy.Merges(selected)
}

// CheckApp returns nil if the app of a job can be delivered to SuperNodes, and otherwise
// an error of the configuration.
func CheckApp(config jobconfig.Config, fleet *supernode.Server) error {
	if config.App == "" {
		return nil
	}
	reason := "cannot take part: this server has no listener for SuperNodes"
	if fleet != nil {
		_, err := fleet.Apps().Find(config.App)
		if err == nil {
			return nil
		}
		reason = err.Error()
	}
	fault := jobconfig.Fault{Path: []any{"app"}, Kind: jobconfig.Invalid, Reason: reason}
	return &jobconfig.Error{Faults: []jobconfig.Fault{fault}}
}
