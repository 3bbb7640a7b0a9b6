package flcollect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/internal/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// formError has the faults of a form by its fields.
type formError map[string]string

// Error implements error.
func (e formError) Error() string { return fmt.Sprintf("the form has %d faults", len(e)) }

// blame notes what is wrong with the form at its fields, and reports whether the form is to
// blame.
func (v *newView) blame(err error) bool {
	var own formError
	var config *JobConfigError
	switch {
	case errors.As(err, &own):
		v.Faults = own
	case errors.As(err, &config):
		for _, fault := range config.Faults {
			text := fault.String()
			if len(fault.Path) > 0 {
				_, text, _ = strings.Cut(text, ": ")
			}
			v.note(fault.Path, text)
		}
	case errors.Is(err, ErrActive):
		v.Faults["id"] = "The job is being trained with another configuration."
	default:
		details := detailsOf(err)
		for _, d := range details {
			v.note(d.Loc[1:], d.Msg) // behind "body"
		}
		return details != nil
	}
	return true
}

// note notes a fault at the field of a place in the configuration.
func (v *newView) note(path []any, text string) {
	steps := make([]string, len(path), 3)
	for i, step := range path {
		steps[i] = fmt.Sprint(step)
	}
	name := strings.Join(steps, ".")
	steps = append(steps, "", "", "")
	switch steps[0] {
	case "strategy":
		if v.Chosen() == otherStrategy {
			name = "strategyName"
		}
	case "server_conf":
		name = map[string]string{"num_rounds": "rounds", "round_timeout": "timeout"}[steps[1]]
	case "strategy_conf":
		name = v.parameterField(steps[1])
	case "client_conf":
		name = "client." + steps[2]
	case "privacy-mechanisms":
		name = map[string]string{dp.Mechanism: "dp.", jobconfig.Homomorphic: jobconfig.Homomorphic + "."}[steps[1]] + steps[2]
	case "stopping_target":
		name = "targets"
	}
	text = sentence(text)
	if _, there := v.Faults[name]; there || !v.has(name) {
		v.Fault = strings.TrimSpace(v.Fault + " " + strings.Join(steps[:len(path)], ".") + ": " + text)
		return
	}
	v.Faults[name] = text
}

// parameterField returns the field of a parameter of the strategy.
func (v *newView) parameterField(name string) string {
	switch {
	case strings.HasPrefix(name, "min_") && strings.HasSuffix(name, "_clients") && v.Form.Get("conf."+name) == "":
		return "clients"
	case v.isCommon(name):
		return "conf." + name
	case strings.HasPrefix(name, "norm_"):
		return "bounds." + name
	}
	if own := "conf." + v.Chosen() + "." + name; v.has(own) {
		return own
	}
	return "further"
}

// has reports whether the form has a field of the name, chosen or not.
func (v *newView) has(name string) bool {
	fixed := []string{"id", "model_name", "model_version", "configuration_id", "rounds", "timeout", "clients", "strategy", "strategyName",
		"further", "targets", "client.epochs", "client.batch_size", "client.steps_per_epoch", "client.learning_rate",
		"homomorphic.poly_modulus_degree", "homomorphic.coeff_mod_bit_sizes", "homomorphic.scale_bits"}
	if slices.Contains(fixed, name) {
		return true
	}
	among := func(prefix string, parameters []strategy.Parameter) bool {
		return slices.ContainsFunc(parameters, func(p strategy.Parameter) bool { return prefix+p.Name == name })
	}
	return among("conf.", v.Common) || among("bounds.", v.Bounds) || among("dp.", v.Privacy) ||
		slices.ContainsFunc(v.Strategies, func(d strategy.Description) bool { return among("conf."+d.Name+".", v.Own(d)) })
}
