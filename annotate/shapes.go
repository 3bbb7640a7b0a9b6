package annotate

import (
	"fmt"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/shacl"
	"github.com/iotenablers/enablers/annotate/rml"
)

const (
	keptViolations  = 20 // of a message, by the error
	namedViolations = 3  // by its text
)

// ShapeError is why a message failed whose output violates the shapes of the
// mapping (W3C SHACL Core). Results with the severities sh:Warning and sh:Info, or
// one of the shapes' own, violate nothing.
type ShapeError struct {
	// Violations are the first 20 results that are violations, and Count is how many
	// there are.
	Violations []shacl.Result
	Count      int
}

// newShapeError returns nil if the report has no violation.
func newShapeError(r *shacl.Report) *ShapeError {
	if r.Violations == 0 {
		return nil
	}
	e := &ShapeError{Count: r.Violations}
	for _, result := range r.Results {
		if result.Severity == shacl.Violation && len(e.Violations) < keptViolations {
			e.Violations = append(e.Violations, result)
		}
	}
	return e
}

// Error describes the first three violations, each by its focus node, its path, its
// message and its shape, and says how many more there are.
func (e *ShapeError) Error() string {
	named := e.Violations[:min(len(e.Violations), namedViolations)]
	texts := make([]string, len(named), len(named)+1)
	for i, v := range named {
		texts[i] = v.String()
	}
	if more := e.Count - len(named); more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return "the output violates the shapes: " + strings.Join(texts, "; ")
}

// shape names the shape of the first violation.
func (e *ShapeError) shape() string {
	if len(e.Violations) == 0 {
		return ""
	}
	return shapeName(e.Violations[0])
}

// shapeName names the shape of a result with its line.
func shapeName(r shacl.Result) string {
	if r.Shape.Kind == rdf.IRI {
		return fmt.Sprintf("shape %s, line %d", rdf.AppendTerm(nil, r.Shape), r.Line)
	}
	return fmt.Sprintf("shape on line %d", r.Line)
}

// violationReport is a violation in the structured form of an error message.
type violationReport struct {
	Focus     string `json:"focus"`
	Path      string `json:"path,omitempty"`
	Value     string `json:"value,omitempty"`
	Message   string `json:"message"`
	Shape     string `json:"shape,omitempty"`
	Line      int    `json:"line"`
	Component string `json:"component"`
}

func (e *ShapeError) reports() []violationReport {
	reports := make([]violationReport, len(e.Violations))
	for i, v := range e.Violations {
		r := violationReport{
			Focus: string(rdf.AppendTerm(nil, v.Focus)), Path: v.Path, Message: v.Message, Line: v.Line, Component: v.Component,
		}
		if !v.Value.IsZero() {
			r.Value = string(rdf.AppendTerm(nil, v.Value))
		}
		if v.Shape.Kind == rdf.IRI {
			r.Shape = v.Shape.Value
		}
		reports[i] = r
	}
	return reports
}

// compiledMapping is a mapping that is ready for messages.
type compiledMapping struct {
	plan   *rml.Plan
	shapes *shacl.Shapes // nil if nothing is checked
	format InputFormat
	noted  noted
}

// loadShapes compiles the shapes, if there are any. Shapes that would select no
// node are refused, since they check nothing.
func (m Mapping) loadShapes() (*shacl.Shapes, error) {
	if strings.TrimSpace(m.Shapes) == "" {
		return nil, nil
	}
	shapes, err := shacl.Load([]byte(m.Shapes), nil)
	switch {
	case err != nil:
		return nil, &FieldError{"metadata.mapping.shapes", err.Error()}
	case shapes.Targeted() == 0:
		return nil, &FieldError{"metadata.mapping.shapes", "no shape has a target, so that nothing would be checked; " +
			"add one, such as sh:targetClass or sh:targetSubjectsOf"}
	}
	return shapes, nil
}

// apply maps a message and validates the statements by the shapes.
func (w *worker) apply(c *Channel, message []byte) ([]byte, error) {
	if w.mapping.shapes == nil {
		return w.mapper.Append(w.buffer[:0], message)
	}
	quads, err := w.mapper.Quads(message)
	if err != nil {
		return nil, err
	}
	report, err := w.mapping.shapes.Validate(quads)
	if err != nil {
		return nil, &failure{reason: "check the output by the shapes", err: err}
	}
	if violated := newShapeError(&report); violated != nil {
		return nil, violated
	}
	if !report.Conforms() && c.counters.warned.Add(1) == 1 {
		c.log.Warn("the shapes warn of a message, which is published; the status counts further ones",
			"result", report.Results[0].String())
	}
	return w.mapper.AppendQuads(w.buffer[:0], quads)
}
