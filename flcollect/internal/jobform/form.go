package jobform

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// Form is the form of a job.
type Form struct {
	// Values are what the fields have.
	Values url.Values
	// Strategies are those that can be chosen.
	Strategies []strategy.Description
	// Common are the parameters of all strategies, Bounds those of norm bounding, Privacy those
	// of differential privacy, and Masking those of secure aggregation.
	Common, Bounds, Privacy, Masking []strategy.Parameter
	// Async are the settings of asynchronous jobs.
	Async []strategy.Parameter
	// Faults says what is wrong by the names of fields, Fault what belongs to none of them.
	Faults map[string]string
	Fault  string
}

// otherStrategy is the choice of a strategy in the repository.
const otherStrategy = "other"

// New returns a form that has values.
func New(values url.Values, strategies []strategy.Description) *Form {
	f := &Form{Values: values, Strategies: strategies, Bounds: strategy.DescribeBounds(), Faults: map[string]string{}}
	f.Privacy, f.Masking, f.Async = privacyFields(dp.Parameters()), maskingFields(), jobconfig.AsyncParameters()
	if common, ok := strategy.Describe(jobconfig.Averaging); ok {
		f.Common = common.Parameters
	}
	for i, p := range f.Common {
		if strings.HasPrefix(p.Name, "min_") {
			f.Common[i].Default = nil // the form has a field for all of them
		}
	}
	return f
}

// privacyFields returns the parameters of differential privacy with those first that decide
// on epsilon.
func privacyFields(all []strategy.Parameter) []strategy.Parameter {
	first := []string{"noise_multiplier", "num_sampled_clients", "epsilon_budget", "delta"}
	place := func(p strategy.Parameter) int {
		if i := slices.Index(first, p.Name); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortStableFunc(all, func(a, b strategy.Parameter) int { return place(a) - place(b) })
	for i, p := range all {
		switch p.Name {
		case "num_sampled_clients":
			all[i].Default = "the clients above"
		case "clip_count_stddev":
			all[i].Default = "clients / 20"
		case "epsilon_budget":
			all[i].Default = "no budget"
		}
	}
	return all
}

// maskingFields returns the parameters of secure aggregation.
func maskingFields() []strategy.Parameter {
	number := func(name, meaning string, usual any) strategy.Parameter {
		return strategy.Parameter{Name: name, Meaning: meaning, Kind: "number", Default: usual, Least: math.Inf(-1), Most: math.Inf(1)}
	}
	integer := func(name, meaning string, usual any) strategy.Parameter {
		p := number(name, meaning, usual)
		p.Kind = "integer"
		return p
	}
	return []strategy.Parameter{
		number("num_shares", "Among how many clients each divides its secrets: from 3, or a fraction of the clients of a round.", "31"),
		number("reconstruction_threshold", "How many of these shares restore a secret: from 2, or a fraction of the shares.", "two thirds"),
		number("max_weight", "The number of examples at which a client's weight is 1.", 1000.0),
		number("clipping_range", "Clients clip each number of an update, times its weight, to this range.", 8.0),
		integer("quantization_range", "Into how many steps clients divide that range.", int64(1)<<22),
		integer("modulus_range", "The modulus of the sums, a power of 2.", int64(1)<<32),
		number("timeout", "Time for each of the four stages, in seconds.", "that of a phase"),
	}
}

// Value returns what a field of the form has.
func (f *Form) Value(name string) string { return f.Values.Get(name) }

// Chosen returns the strategy that is chosen.
func (f *Form) Chosen() string {
	if chosen := f.Values.Get("strategy"); chosen != "" {
		return chosen
	}
	return jobconfig.Averaging
}

// Own returns the parameters of a strategy that others do not have.
func (f *Form) Own(d strategy.Description) []strategy.Parameter {
	return slices.DeleteFunc(slices.Clone(d.Parameters), func(p strategy.Parameter) bool { return f.isCommon(p.Name) })
}

func (f *Form) isCommon(name string) bool {
	return slices.ContainsFunc(f.Common, func(p strategy.Parameter) bool { return p.Name == name })
}

// Field is a field of the form.
type Field struct {
	strategy.Parameter
	ID, Label, Value, Fault string
}

// Text returns a field for text.
func (f *Form) Text(id, label, meaning string, required bool, usual string) Field {
	made := Field{
		Parameter: strategy.Parameter{Meaning: meaning, Required: required},
		ID:        id, Label: label, Value: f.Values.Get(id), Fault: f.Faults[id],
	}
	if usual != "" {
		made.Default = usual
	}
	return made
}

// Opens reports whether a field has a value or a fault whose name begins so, without a
// further point.
func (f *Form) Opens(prefix string) bool {
	within := func(name string) bool {
		rest, ok := strings.CutPrefix(name, prefix)
		return ok && !strings.Contains(rest, ".")
	}
	for name, values := range f.Values {
		if within(name) && values[0] != "" {
			return true
		}
	}
	return slices.ContainsFunc(slices.Collect(maps.Keys(f.Faults)), within)
}

// Field returns the field of a parameter.
func (f *Form) Field(prefix string, p strategy.Parameter) Field {
	id := prefix + p.Name
	return Field{Parameter: p, ID: id, Value: f.Values.Get(id), Fault: f.Faults[id]}
}

// HasLeast reports whether a number has a least value.
func (f Field) HasLeast() bool { return f.Kind != "boolean" && !math.IsInf(f.Least, 0) }

// HasMost reports whether a number has a greatest value.
func (f Field) HasMost() bool { return f.Kind != "boolean" && !math.IsInf(f.Most, 0) }

// Usual returns the default, empty if there is none.
func (f Field) Usual() string {
	switch given := f.Default.(type) {
	case nil:
		return ""
	case bool:
		if given {
			return "yes"
		}
		return "no"
	case float64:
		return strconv.FormatFloat(given, 'g', -1, 64)
	default:
		return fmt.Sprint(given)
	}
}
