package flcollect

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/internal/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/internal/shell"
)

// newView is the page on which a job is made.
type newView struct {
	shell.Frame
	Form       url.Values
	Strategies []strategy.Description
	Common     []strategy.Parameter // of all strategies
	Bounds     []strategy.Parameter // of norm bounding
	Privacy    []strategy.Parameter // of differential privacy
	Fault      string               // about the whole form
	Faults     map[string]string    // by the names of fields
	Estimate   string
}

// otherStrategy is the choice of a strategy in the repository.
const otherStrategy = "other"

func (p *pages) newView(r *http.Request) *newView {
	v := &newView{Frame: p.part.Frame(r, "New job"), Form: url.Values{},
		Strategies: p.jobs.Strategies(), Bounds: strategy.DescribeBounds(), Privacy: dp.Parameters(), Faults: map[string]string{}}
	if common, ok := strategy.Describe(jobconfig.Averaging); ok {
		v.Common = common.Parameters
	}
	for i, p := range v.Common {
		if strings.HasPrefix(p.Name, "min_") {
			v.Common[i].Default = nil // the form has a field for all of them
		}
	}
	for i, p := range v.Bounds { // what the server applies, see strategies.make
		switch p.Name {
		case "norm_factor":
			v.Bounds[i].Default = DefaultNormFactor
		case "norm_min_updates":
			v.Bounds[i].Default = DefaultNormMinUpdates
		case "norm_clip":
			v.Bounds[i].Default = nil
		}
	}
	v.Privacy = privacyFields(v.Privacy)
	return v
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

// Value returns what a field of the form has.
func (v *newView) Value(name string) string { return v.Form.Get(name) }

// Chosen returns the strategy that is chosen.
func (v *newView) Chosen() string {
	if chosen := v.Form.Get("strategy"); chosen != "" {
		return chosen
	}
	return jobconfig.Averaging
}

// Own returns the parameters of a strategy that others do not have.
func (v *newView) Own(d strategy.Description) []strategy.Parameter {
	return slices.DeleteFunc(slices.Clone(d.Parameters), func(p strategy.Parameter) bool { return v.isCommon(p.Name) })
}

func (v *newView) isCommon(name string) bool {
	return slices.ContainsFunc(v.Common, func(p strategy.Parameter) bool { return p.Name == name })
}

// field is a field of the form.
type field struct {
	strategy.Parameter
	ID, Label, Value, Fault string
}

// Text returns a field for text.
func (v *newView) Text(id, label, meaning string, required bool, usual string) field {
	f := field{Parameter: strategy.Parameter{Meaning: meaning, Required: required}, ID: id, Label: label, Value: v.Form.Get(id), Fault: v.Faults[id]}
	if usual != "" {
		f.Default = usual
	}
	return f
}

// Opens reports whether a field has a value or a fault whose name begins so, without a
// further point.
func (v *newView) Opens(prefix string) bool {
	within := func(name string) bool {
		rest, ok := strings.CutPrefix(name, prefix)
		return ok && !strings.Contains(rest, ".")
	}
	for name, values := range v.Form {
		if within(name) && values[0] != "" {
			return true
		}
	}
	return slices.ContainsFunc(slices.Collect(maps.Keys(v.Faults)), within)
}

// Field returns the field of a parameter.
func (v *newView) Field(prefix string, p strategy.Parameter) field {
	id := prefix + p.Name
	return field{Parameter: p, ID: id, Value: v.Form.Get(id), Fault: v.Faults[id]}
}

// HasLeast reports whether a number has a least value.
func (f field) HasLeast() bool { return f.Kind != "boolean" && !math.IsInf(f.Least, 0) }

// HasMost reports whether a number has a greatest value.
func (f field) HasMost() bool { return f.Kind != "boolean" && !math.IsInf(f.Most, 0) }

// Usual returns the default, empty if there is none.
func (f field) Usual() string {
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
