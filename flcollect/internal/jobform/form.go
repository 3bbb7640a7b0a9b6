package jobform

import (
	"cmp"
	"net/url"
	"slices"

	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/internal/form"
)

// Form is the form of a job.
type Form struct {
	// Fields are a group for each section, and each strategy has one of its own.
	form.Fields
	// Strategies are those that can be chosen.
	Strategies []strategy.Description
	// Fault is what is wrong with the job and belongs to no field.
	Fault string

	values url.Values
}

// otherStrategy is the choice of a strategy in the repository.
const otherStrategy = "other"

// New returns a form that has values.
func New(values url.Values, strategies []strategy.Description) *Form {
	f := &Form{Fields: sections(), Strategies: strategies, values: values}
	choice := form.Options[string]()
	for _, d := range strategies {
		own := form.Field{Name: ownSection(d.Name), Kind: form.Group}
		for _, p := range d.Parameters {
			if f.Find("conf."+p.Name) == nil {
				own.Fields = append(own.Fields, parameter("conf."+d.Name+".", "strategy_conf.", p))
			}
		}
		choice, f.Fields = append(choice, form.Option{Value: d.Name}), append(f.Fields, own)
	}
	f.Find("strategy").Options = append(choice, form.Option{Value: otherStrategy, Label: "another one, of the repository"})
	f.Fill(values)
	f.Find("strategy").Value = f.Chosen()
	return f
}

func ownSection(name string) string { return "own " + name }

// Own returns the fields of a strategy that others do not have.
func (f *Form) Own(d strategy.Description) form.Fields { return f.Group(ownSection(d.Name)) }

// Chosen returns the strategy that is chosen.
func (f *Form) Chosen() string { return cmp.Or(f.values.Get("strategy"), jobconfig.Averaging) }

// Opens reports whether a field of a section has a value or a fault.
func (f *Form) Opens(section string) bool {
	return slices.ContainsFunc(f.Group(section), func(field form.Field) bool { return field.Value != "" || field.Fault != "" })
}

// Faults returns the faults by the names of their fields.
func (f *Form) Faults() map[string]string {
	faults := map[string]string{}
	f.Each(func(field *form.Field) {
		if field.Fault != "" {
			faults[field.Name] = field.Fault
		}
	})
	return faults
}

// active returns the fields whose values are part of the configuration.
func (f *Form) active() form.Fields {
	names := []string{"training", "choosing", "bounds", "clients", "speed", ownSection(f.Chosen())}
	for _, name := range []string{"async", "app", "dp", jobconfig.Homomorphic, jobconfig.SecAgg} { // fields with a section of that name
		if f.Get(name) != "" {
			names = append(names, name)
		}
	}
	return slices.DeleteFunc(slices.Clone(f.Fields), func(group form.Field) bool { return !slices.Contains(names, group.Name) })
}
