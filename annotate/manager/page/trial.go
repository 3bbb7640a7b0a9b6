package page

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager/internal/locate"
	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/shacl"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// The limits of one trial on the workbench. People look at messages there, not at batches.
const (
	maxTrial      = 1 << 20 // bytes of the sample, and of the mapping
	maxTrialBody  = 8 << 20 // of both as JSON or as a form, escaped
	maxStatements = 10_000
	maxOutput     = 4 << 20 // bytes of RDF
	maxShown      = 1000    // statements in an answer
	trialTime     = 5 * time.Second
	trials        = 4 // at a time
)

// trialRequest is what the workbench has tried.
type trialRequest struct {
	Sample       string                `json:"sample"`
	Mapping      string                `json:"mapping"`
	Shapes       string                `json:"shapes"`
	InputFormat  annotate.InputFormat  `json:"inputFormat"`
	OutputFormat annotate.OutputFormat `json:"outputFormat"`
	Dialect      string                `json:"dialect"`

	Language annotate.MappingLanguage `json:"language"`
}

// trialView is the result of a trial.
type trialView struct {
	// Fault is about the mapping, Failure about the sample.
	Fault   *placed `json:"fault"`
	Failure *placed `json:"failure"`
	// Findings are what is valid and probably a mistake.
	Findings []placed `json:"findings"`
	// Output is what a channel would publish.
	Output     string          `json:"output"`
	Statements []statementView `json:"statements"`
	// More is how many statements there are besides.
	More    int `json:"more"`
	Records int `json:"records"`
	// IllTyped is how many of all statements have a literal whose text its datatype does not have,
	// and Unmatched how many iterators select no record.
	IllTyped  int `json:"illTyped"`
	Unmatched int `json:"unmatched"`
	// IrregularRows are the rows of CSV that do not have the cells of the header: the first of each kind.
	IrregularRows []placed `json:"irregularRows"`
	// Violations are what the shapes find, at most 20 results of any severity. Invalid counts
	// the violations among all results: with one a channel does not publish the message.
	Violations []violationView `json:"violations"`
	Invalid    int             `json:"invalid"`
	// Unchecked means that the shapes select no node of the output.
	Unchecked bool `json:"unchecked,omitempty"`
}

// violationView is what a shape finds.
type violationView struct {
	Text     string `json:"text"`
	Severity string `json:"severity"` // the end of its IRI: Violation, Warning, Info
	// Shape is the shape's IRI, empty if it has none, and Line where it begins.
	Shape string `json:"shape,omitempty"`
	Line  int    `json:"line"`
}

// maxViolations is how many results of shapes an answer has.
const maxViolations = 20

func newViolationViews(results []shacl.Result) []violationView {
	views := make([]violationView, 0, min(len(results), maxViolations))
	for _, r := range results[:cap(views)] {
		view := violationView{Line: r.Line, Severity: r.Severity[strings.LastIndexAny(r.Severity, "#/")+1:]}
		if r.Shape.Kind == rdf.IRI {
			view.Shape = r.Shape.Value
		}
		r.Shape, r.Line = rdf.Term{}, 0 // they are shown beside the text
		view.Text = r.String()
		views = append(views, view)
	}
	return views
}

// Total is the number of statements.
func (v *trialView) Total() int { return len(v.Statements) + v.More }

// placed is a sentence about a place.
type placed struct {
	Text string `json:"text"`
	// Line is that of the mapping, 0 where it is not known.
	Line int `json:"line"`
	// Column is that of the mapping, 0 where it is not known.
	Column int `json:"column,omitempty"`
	// Node names the part of the mapping, Place the one of the sample.
	Node  string `json:"node,omitempty"`
	Place string `json:"place,omitempty"`
	// At is Place in the text of the sample, nil where it is not found.
	At *textRange `json:"at,omitempty"`
}

// textRange is a part of a text, in the UTF-16 units that scripts count.
type textRange struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// statementView is a statement with the line of the mapping that created it.
type statementView struct {
	Subject   termView  `json:"subject"`
	Predicate termView  `json:"predicate"`
	Object    termView  `json:"object"`
	Graph     *termView `json:"graph,omitempty"`
	Line      int       `json:"line"`
	Node      string    `json:"node"`
	// IllTyped describes what is wrong with a literal whose text its datatype does not
	// have.
	IllTyped string `json:"illTyped,omitempty"`
}

// termView is a term: its text in N-Triples, and what it is.
type termView struct {
	Text string `json:"text"`
	// Value is the text of a literal, Datatype the IRI of its datatype, empty for a string.
	Value     string `json:"value,omitempty"`
	Datatype  string `json:"datatype,omitempty"`
	Language  string `json:"language,omitempty"`
	IsLiteral bool   `json:"isLiteral,omitempty"`
}

func newTermView(t rdf.Term) termView {
	v := termView{Text: string(rdf.AppendTerm(nil, t)), IsLiteral: t.Kind == rdf.Literal}
	if v.IsLiteral {
		v.Value = t.Value
		v.Datatype = t.Datatype
		v.Language = t.Lang
	}
	return v
}

// try answers with the result of a mapping for a sample.
func (b *workbench) try(w http.ResponseWriter, r *http.Request) error {
	data, err := httpapi.ReadBody(r, "application/json", maxTrialBody)
	if err != nil {
		return err
	}
	request, err := readTrial(data)
	if err != nil {
		return err
	}
	view, err := b.run(r.Context(), request)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, view)
}

// readTrial reads the request of the workbench.
func readTrial(data []byte) (trialRequest, error) {
	var request trialRequest
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return request, &httpapi.Error{Status: http.StatusBadRequest, Detail: "The request cannot be read: " + err.Error()}
	}
	return request, nil
}

// check refuses what is too large to be tried.
func (request trialRequest) check() error {
	for _, part := range []struct{ name, text string }{{"sample", request.Sample}, {"mapping", request.Mapping},
		{"document of shapes", request.Shapes}} {
		if len(part.text) > maxTrial {
			return &httpapi.Error{Status: http.StatusRequestEntityTooLarge,
				Detail: fmt.Sprintf("The %s has %d bytes; the workbench takes %d.", part.name, len(part.text), maxTrial)}
		}
	}
	return nil
}

// run tries a mapping as soon as there is a slot for it.
func (b *workbench) run(ctx context.Context, request trialRequest) (*trialView, error) {
	if err := request.check(); err != nil {
		return nil, err
	}
	release, err := b.trials.Take()
	if err != nil {
		return nil, err
	}
	defer release()
	return request.run(ctx, b.env.Functions), nil
}

// run tries the mapping. The sample is mapped for its output and traced, each in two fifths of
// the time; what is left is for the findings.
func (request trialRequest) run(ctx context.Context, functions []rml.Function) *trialView {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	m := annotate.Mapping{InputFormat: cmp.Or(request.InputFormat, annotate.JSON),
		OutputFormat: cmp.Or(request.OutputFormat, annotate.Turtle), RML: request.Mapping, Language: request.Language,
		Shapes: request.Shapes}
	trial, err := m.Try(ctx, []byte(request.Sample), request.Dialect, rml.Limits{MaxBytes: maxTrial, MaxTime: 2 * trialTime / 5,
		MaxStatements: maxStatements, MaxOutput: maxOutput}, functions...)
	view := &trialView{Findings: []placed{}, Statements: []statementView{}, IrregularRows: []placed{},
		Output: string(trial.Output), Records: trial.Records, Unmatched: len(trial.Unmatched),
		Violations: newViolationViews(trial.Report.Results), Invalid: trial.Report.Violations,
		Unchecked: err == nil && trial.Checked && trial.Report.Focus == 0}
	view.tell(err, request)
	for _, f := range trial.Findings {
		view.Findings = append(view.Findings, placed{Text: f.Message, Line: f.Line, Node: f.Node})
	}
	if err == nil && view.Records == 0 && len(trial.Findings) == 0 {
		for _, unmatched := range trial.Unmatched { // findings say it with the line
			view.Findings = append(view.Findings, placed{Text: unmatched})
		}
	}
	for _, rows := range trial.IrregularRows {
		view.IrregularRows = append(view.IrregularRows, placed{Text: rows.String(), Place: rows.Place,
			At: findRange(request.Sample, request.InputFormat, rows.Place)})
	}
	for _, made := range trial.Statements[:min(len(trial.Statements), maxShown)] {
		s := statementView{Subject: newTermView(made.Subject), Predicate: newTermView(made.Predicate), Object: newTermView(made.Object),
			Line: made.Line, Node: made.Node, IllTyped: made.IllTyped}
		if made.Graph != (rdf.Term{}) {
			graph := newTermView(made.Graph)
			s.Graph = &graph
		}
		view.Statements = append(view.Statements, s)
	}
	view.More = len(trial.Statements) - len(view.Statements)
	for _, made := range trial.Statements {
		if made.IllTyped != "" {
			view.IllTyped++
		}
	}
	return view
}

// tell sets what an error of the trial says about the mapping or the sample.
func (v *trialView) tell(err error, request trialRequest) {
	var wrong *rml.MappingError
	var syntax *rdf.SyntaxError
	var failed *rml.MessageError
	var field *annotate.FieldError
	switch {
	case err == nil:
	case errors.As(err, &syntax):
		v.Fault = &placed{Text: syntax.Reason, Line: syntax.Line}
	case errors.As(err, &wrong):
		v.Fault = &placed{Text: wrong.Reason, Line: wrong.Line, Column: wrong.Column, Node: wrong.Node}
	case errors.As(err, &failed):
		v.Failure = &placed{Text: failed.Err.Error(), Place: failed.Place, Node: failed.Node,
			At: findRange(request.Sample, request.InputFormat, failed.Place)}
		if strings.Contains(v.Failure.Text, failed.Place) {
			v.Failure.Place = "" // it is said already
		}
	case errors.As(err, &field) && field.Field == "metadata.mapping.shapes":
		v.Fault = &placed{Text: field.Reason, Node: "shapes"}
	case errors.Is(err, context.DeadlineExceeded):
		v.Findings = append(v.Findings, placed{Text: "There was not enough time to look for mistakes."})
	default:
		v.Fault = &placed{Text: sentence(err)}
	}
}

// findRange returns the part of a sample that a place names.
func findRange(sample string, format annotate.InputFormat, place string) *textRange {
	span, ok := locate.Find([]byte(sample), string(format), place)
	if place == "" || !ok {
		return nil
	}
	from := units(sample[:span.Start])
	return &textRange{from, from + max(1, units(sample[span.Start:span.End]))}
}

// units returns the length of a text in UTF-16.
func units(text string) int {
	n := 0
	for _, r := range strings.ToValidUTF8(text, "\ufffd") {
		n += utf16.RuneLen(r)
	}
	return n
}
