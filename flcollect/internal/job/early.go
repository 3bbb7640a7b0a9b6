package job

import (
	"maps"

	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
)

// surpassed returns the first metric, in the order of their names, that has surpassed its
// target, or reached its goal in enough rounds in a row; nil if none has, or if the model is
// still the initial one, which is not a result. It also returns for how many rounds in a row
// goals have been reached. A round without the metric does not count.
func (t *training) surpassed(rec report.Round) (early *report.EarlyEnd, reached map[string]int) {
	if !t.config.Stopping || !t.aggregated {
		return nil, nil
	}
	reached = maps.Clone(t.Record().Reached)
	note := func(name string, value, target float64, below bool) {
		if early == nil || name < early.Metric {
			early = &report.EarlyEnd{ModelName: t.config.ModelName, ModelVersion: t.config.ModelVersion, Round: rec.Number,
				Metric: name, Value: value, Target: target, Below: below}
		}
	}
	for name, target := range t.config.Targets {
		if value, ok := rec.Metrics[name]; ok && value > target {
			note(name, value, target, false)
		}
	}
	for name, goal := range t.config.Goals {
		value, ok := rec.Metrics[name]
		if !ok && name == jobconfig.Loss && rec.Loss != nil {
			value, ok = *rec.Loss, true
		}
		if !ok {
			continue
		}
		beyond, bound := goal.Reached(value)
		if !beyond {
			delete(reached, name)
			continue
		}
		if reached == nil {
			reached = map[string]int{}
		}
		if reached[name]++; reached[name] >= max(goal.Patience, 1) {
			note(name, value, bound, goal.Below != nil)
		}
	}
	return early, reached
}
