package shacl

import (
	"errors"
	"fmt"
	"slices"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// ErrLimit is matched by the error of a validation that takes too many steps.
var ErrLimit = errors.New("shacl: limit exceeded")

// Report is the outcome of a validation. Its zero value is that of a graph that
// conforms.
type Report struct {
	// Results are the results in the order of the shapes in their document, at most
	// [Options.MaxResults].
	Results []Result
	// Violations, Warnings and Infos count the results of these severities, and Others
	// those of severities that SHACL does not define. They count all results.
	Violations, Warnings, Infos, Others int
	// Focus is how many focus nodes the targets of the shapes selected; a node that
	// several shapes select counts as often.
	Focus int
}

// Conforms reports whether there is no result, of any severity (SHACL, section 3.6.1.1).
func (r *Report) Conforms() bool { return r.total() == 0 }

// Omitted is the number of results beyond [Options.MaxResults].
func (r *Report) Omitted() int { return r.total() - len(r.Results) }

func (r *Report) total() int { return r.Violations + r.Warnings + r.Infos + r.Others }

// Result is one result of a validation (SHACL, section 3.6.2).
type Result struct {
	// Focus is the node that was validated.
	Focus rdf.Term
	// Path leads from the focus node to the value, as a property path of SPARQL 1.1
	// with full IRIs; empty for a node shape.
	Path string
	// Value is the value that does not conform; the zero Term where that is not one
	// value.
	Value rdf.Term
	// Shape is the shape that has the constraint; a blank node if it has no name.
	Shape rdf.Term
	// Line is where the shape begins in its document, from 1.
	Line int
	// Component is the IRI of the constraint component.
	Component string
	// Severity is the IRI of the severity of the shape.
	Severity string
	// Message describes what is wrong: the first of Messages that is in English or
	// has no language, else the first of them, else a text of this package.
	Message string
	// Messages are the values of sh:message of the shape, unchanged.
	Messages []rdf.Term
}

// String returns the focus node, the path, the message, the value, and the shape with its line.
func (r Result) String() string {
	text := string(rdf.AppendTerm(nil, r.Focus))
	if r.Path != "" {
		text += " " + r.Path
	}
	text += ": " + r.Message
	if !r.Value.IsZero() && r.Value != r.Focus {
		text += ", value " + string(rdf.AppendTerm(nil, r.Value))
	}
	switch {
	case r.Shape.Kind == rdf.IRI:
		text += fmt.Sprintf(" (shape %s, line %d)", rdf.AppendTerm(nil, r.Shape), r.Line)
	case r.Line > 0:
		text += fmt.Sprintf(" (shape on line %d)", r.Line)
	}
	return text
}

// run is one validation.
type run struct {
	shapes    *Shapes
	graph     graph
	steps     int
	err       error
	reporting bool
	report    Report
	lesser    int // results in the report that are not violations
	scratch   []byte
	single    []id // of node shapes, a stack
	focus     []id // of a shape that has targets
}

// Validate validates the graph of the statements, those of all named graphs. It
// returns an error that matches [ErrLimit] when that takes more than
// [Options.MaxSteps]; then nothing is known about the graph. The statements are not
// kept.
func (s *Shapes) Validate(quads []rdf.Quad) (Report, error) {
	r, _ := s.runs.Get().(*run)
	if r == nil {
		r = &run{shapes: s, graph: graph{constants: s.constants, known: s.terms}}
	}
	r.steps, r.err, r.reporting, r.report, r.lesser, r.single = 0, nil, true, Report{}, 0, r.single[:0]
	r.graph.load(quads)
	r.spend(len(quads))
	for _, shape := range s.targeted {
		r.targets(shape)
		r.report.Focus += len(r.focus)
		for _, node := range r.focus {
			if r.err != nil {
				break
			}
			r.validate(shape, node)
		}
	}
	report, err := r.report, r.err
	r.report = Report{}
	s.runs.Put(r)
	if err != nil {
		return Report{}, err
	}
	return report, nil
}

// spend counts steps. After the last one r.err is set and everything returns.
func (r *run) spend(n int) {
	if r.steps += n; r.steps > r.shapes.maxSteps && r.err == nil {
		r.err = fmt.Errorf("the validation takes more than %d steps: %w", r.shapes.maxSteps, ErrLimit)
	}
}

// targets collects the focus nodes of a shape (SHACL, section 2.1.3).
func (r *run) targets(s *shape) {
	r.focus = append(r.focus[:0], s.targetNodes...)
	for _, class := range s.targetClasses {
		for _, sub := range r.follow(r.shapes.subclasses, []id{class}) {
			r.focus = append(r.focus, r.graph.subjects(r.shapes.typeOf, sub)...)
		}
	}
	if len(s.targetSubjects)+len(s.objects) > 0 {
		r.spend(len(r.graph.forward))
		for _, t := range r.graph.forward {
			if slices.Contains(s.targetSubjects, t.p) {
				r.focus = append(r.focus, t.s)
			}
			if slices.Contains(s.objects, t.p) {
				r.focus = append(r.focus, t.o)
			}
		}
	}
	r.focus = distinct(r.focus)
}

// validate reports whether a focus node conforms to a shape.
func (r *run) validate(s *shape, focus id) bool {
	r.spend(1)
	if s.deactivated || r.err != nil {
		return true
	}
	var values []id
	if s.path == nil {
		r.single = append(r.single, focus)
		values = r.single[len(r.single)-1:]
		defer func() { r.single = r.single[:len(r.single)-1] }()
	} else {
		r.single = append(r.single, focus)
		values = r.follow(s.path, r.single[len(r.single)-1:])
		r.single = r.single[:len(r.single)-1]
	}
	conforms := true
	for _, c := range s.constraints {
		if !c.check(r, s, focus, values) {
			conforms = false
			if !r.reporting {
				return false
			}
		}
	}
	for _, property := range s.properties {
		for _, value := range values {
			if !r.validate(property, value) {
				conforms = false
				if !r.reporting {
					return false
				}
			}
		}
	}
	return conforms
}

// conforms is validate without results.
func (r *run) conforms(s *shape, focus id) bool {
	before := r.reporting
	r.reporting = false
	ok := r.validate(s, focus)
	r.reporting = before
	return ok
}

// fail adds a result. It returns false, as a check does.
func (r *run) fail(s *shape, focus id, value rdf.Term, component, message string) bool {
	if r.reporting {
		r.add(s, focus, s.pathText, value, component, message)
	}
	return false
}

// failValue is fail for a value of the graph.
func (r *run) failValue(s *shape, focus, value id, component, message string) bool {
	if r.reporting {
		r.add(s, focus, s.pathText, r.graph.term(value), component, message)
	}
	return false
}

func (r *run) add(s *shape, focus id, path string, value rdf.Term, component, message string) {
	switch s.severity {
	case Violation:
		r.report.Violations++
	case Warning:
		r.report.Warnings++
	case Info:
		r.report.Infos++
	default:
		r.report.Others++
	}
	if len(r.report.Results) >= r.shapes.maxResults {
		if s.severity != Violation || r.lesser == 0 {
			return
		}
		// A violation decides, so that it takes the place of what does not.
		i := slices.IndexFunc(r.report.Results, func(listed Result) bool { return listed.Severity != Violation })
		r.report.Results = slices.Delete(r.report.Results, i, i+1)
		r.lesser--
	}
	if s.severity != Violation {
		r.lesser++
	}
	r.report.Results = append(r.report.Results, Result{
		Focus: r.graph.term(focus), Path: path, Value: value, Shape: s.node, Line: s.line,
		Component: Namespace + component + componentSuffix, Severity: s.severity, Message: chosen(s.messages, message), Messages: s.messages,
	})
}

func chosen(messages []rdf.Term, otherwise string) string {
	for _, m := range messages {
		if m.Lang == "" || (len(m.Lang) >= 2 && (m.Lang[:2] == "en" || m.Lang[:2] == "EN")) {
			return m.Value
		}
	}
	if len(messages) > 0 {
		return messages[0].Value
	}
	return otherwise
}
