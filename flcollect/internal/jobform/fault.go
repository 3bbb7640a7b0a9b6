package jobform

import (
	"fmt"
	"strings"

	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/internal/form"
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
	steps := make([]string, len(path))
	for i, step := range path {
		steps[i] = fmt.Sprint(step)
	}
	text = Sentence(text)
	if field := f.at(steps); field != nil && field.Fault == "" {
		field.Fault = text
		return
	}
	f.Fault = strings.TrimSpace(f.Fault + " " + strings.Join(steps, ".") + ": " + text)
}

// at returns the field of a place in the configuration; nil if there is none.
func (f *Form) at(steps []string) *form.Field {
	if len(steps) == 0 {
		return nil
	}
	path := strings.Join(steps, ".")
	switch steps[0] {
	case "strategy":
		if f.Chosen() == otherStrategy {
			return f.Find("strategyName")
		}
	case "strategy_conf":
		name := strings.Join(steps[1:], ".")
		if strings.HasPrefix(name, "min_") && strings.HasSuffix(name, "_clients") && f.Get("conf."+name) == "" {
			return f.Find("clients")
		}
	case "client_conf":
		path = atClient + strings.Join(steps[min(2, len(steps)):], ".") // without the number of the object
	}
	return append(f.active(), f.Fields...).At(path) // a parameter of several strategies is that of the chosen one
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
