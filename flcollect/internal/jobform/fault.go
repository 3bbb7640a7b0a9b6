package jobform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// Blame notes the faults of a configuration at the fields that they are in.
func (f *Form) Blame(faults []jobconfig.Fault) {
	for _, fault := range faults {
		text := fault.String()
		if len(fault.Path) > 0 {
			_, text, _ = strings.Cut(text, ": ")
		}
		f.Note(fault.Path, text)
	}
}

// Note notes a fault at the field of a place in the configuration.
func (f *Form) Note(path []any, text string) {
	steps := make([]string, len(path), 3)
	for i, step := range path {
		steps[i] = fmt.Sprint(step)
	}
	name := strings.Join(steps, ".")
	steps = append(steps, "", "", "")
	switch steps[0] {
	case "strategy":
		if f.Chosen() == otherStrategy {
			name = "strategyName"
		}
	case "server_conf":
		name = serverField(steps[1])
		if steps[1] == "async" && steps[2] != "" {
			name = "async." + steps[2]
		}
	case "strategy_conf":
		name = f.parameterField(steps[1])
	case "client_conf":
		name = "client." + steps[2]
	case "privacy-mechanisms":
		name = mechanismField(steps[1], steps[2])
	case "stopping_target":
		name = "targets"
	}
	text = Sentence(text)
	if _, there := f.Faults[name]; there || !f.has(name) {
		f.Fault = strings.TrimSpace(f.Fault + " " + strings.Join(steps[:len(path)], ".") + ": " + text)
		return
	}
	f.Faults[name] = text
}

// mechanismField returns the field of a member of a privacy mechanism, or of the mechanism
// itself.
func mechanismField(mechanism, member string) string {
	if mechanism == dp.Mechanism {
		mechanism = "dp"
	}
	if member == "" {
		return mechanism
	}
	return mechanism + "." + member
}

// serverField returns the field of a member of server_conf.
func serverField(name string) string {
	switch name {
	case "num_rounds":
		return "rounds"
	case "round_timeout":
		return "timeout"
	case "sampling":
		return "tiers"
	}
	return name
}

// parameterField returns the field of a parameter of the strategy.
func (f *Form) parameterField(name string) string {
	switch {
	case strings.HasPrefix(name, "min_") && strings.HasSuffix(name, "_clients") && f.Values.Get("conf."+name) == "":
		return "clients"
	case f.isCommon(name):
		return "conf." + name
	case strings.HasPrefix(name, "norm_"):
		return "bounds." + name
	}
	if own := "conf." + f.Chosen() + "." + name; f.has(own) {
		return own
	}
	return "further"
}

// has reports whether the form has a field of the name, chosen or not.
func (f *Form) has(name string) bool {
	fixed := []string{"id", "model_name", "model_version", "configuration_id", "rounds", "timeout", "async", "app", "records", "compression",
		"local_layers", "tiers", "clients", "strategy", "strategyName", "further", "targets", "client.epochs", "client.batch_size",
		"client.steps_per_epoch", "client.learning_rate", "homomorphic.poly_modulus_degree", "homomorphic.coeff_mod_bit_sizes",
		"homomorphic.scale_bits", jobconfig.SecAgg}
	if slices.Contains(fixed, name) {
		return true
	}
	among := func(prefix string, parameters []strategy.Parameter) bool {
		return slices.ContainsFunc(parameters, func(p strategy.Parameter) bool { return prefix+p.Name == name })
	}
	return among("conf.", f.Common) || among("bounds.", f.Bounds) || among("dp.", f.Privacy) || among("async.", f.Async) ||
		among(jobconfig.SecAgg+".", f.Masking) ||
		slices.ContainsFunc(f.Strategies, func(d strategy.Description) bool { return among("conf."+d.Name+".", f.Own(d)) })
}

// Sentence returns a text that names what is wrong as a sentence.
func Sentence(text string) string {
	for _, verb := range []string{"is ", "has ", "must "} {
		if strings.HasPrefix(text, verb) {
			text = "the value " + text
		}
	}
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}
