package manager

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/suggest"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// The limits of one trial on the workbench. People look at messages there, not at batches.
const (
	maxTrial      = 1 << 20 // bytes of the message, and of the mapping
	maxTrialBody  = 6 << 20 // of both as JSON
	maxStatements = 10_000
	maxShown      = 1000 // statements in an answer
	trialTime     = 5 * time.Second
	trials        = 4 // at a time
)

// trialRequest is what the workbench has tried.
type trialRequest struct {
	Message      string                `json:"message"`
	RML          string                `json:"rml"`
	InputFormat  annotate.InputFormat  `json:"inputFormat"`
	OutputFormat annotate.OutputFormat `json:"outputFormat"`
}

// trialView is what comes of it.
type trialView struct {
	// Fault is about the mapping, Failure about the message.
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
}

// placed is a sentence about a place.
type placed struct {
	Text string `json:"text"`
	// Line is that of the mapping, 0 where it is not known.
	Line int `json:"line"`
	// Node names the part of the mapping, Place the one of the message.
	Node  string `json:"node,omitempty"`
	Place string `json:"place,omitempty"`
}

// statementView is a statement with the line of the mapping that made it.
type statementView struct {
	Subject   termView  `json:"subject"`
	Predicate termView  `json:"predicate"`
	Object    termView  `json:"object"`
	Graph     *termView `json:"graph,omitempty"`
	Line      int       `json:"line"`
	Node      string    `json:"node"`
}

// termView is a term: its text in N-Triples, and its kind.
type termView struct {
	Text      string `json:"text"`
	IsLiteral bool   `json:"isLiteral,omitempty"`
}

func termOf(t rdf.Term) termView {
	return termView{string(rdf.AppendTerm(nil, t)), t.Kind == rdf.Literal}
}

// try answers with what a mapping makes of a message.
func (p *pages) try(w http.ResponseWriter, r *http.Request) error {
	release, err := p.trials.Take()
	if err != nil {
		return err
	}
	defer release()
	data, err := httpapi.ReadBody(r, "application/json", maxTrialBody)
	if err != nil {
		return err
	}
	request, err := readTrial(data)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, run(r.Context(), request))
}

// readTrial reads the request of the workbench.
func readTrial(data []byte) (trialRequest, error) {
	var request trialRequest
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return request, &httpapi.Error{Status: http.StatusBadRequest, Detail: "The request cannot be read: " + err.Error()}
	}
	for name, text := range map[string]string{"message": request.Message, "mapping": request.RML} {
		if len(text) > maxTrial {
			return request, &httpapi.Error{Status: http.StatusRequestEntityTooLarge,
				Detail: fmt.Sprintf("The %s has %d bytes; the workbench takes %d.", name, len(text), maxTrial)}
		}
	}
	return request, nil
}

// run tries a mapping.
func run(ctx context.Context, request trialRequest) trialView {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	m := annotate.Mapping{InputFormat: cmp.Or(request.InputFormat, annotate.JSON),
		OutputFormat: cmp.Or(request.OutputFormat, annotate.Turtle), RML: request.RML}
	trial, err := m.Try(ctx, []byte(request.Message), rml.Limits{MaxBytes: maxTrial, MaxTime: trialTime, MaxStatements: maxStatements})
	view := trialView{Findings: []placed{}, Statements: []statementView{}, Output: string(trial.Output), Records: trial.Records}
	var wrong *rml.MappingError
	var failed *rml.MessageError
	switch {
	case err == nil:
	case errors.As(err, &wrong):
		view.Fault = &placed{Text: wrong.Reason, Line: wrong.Line, Node: wrong.Node}
		var syntax *rdf.SyntaxError
		if errors.As(err, &syntax) {
			view.Fault.Text, view.Fault.Line = syntax.Reason, syntax.Line
		}
	case errors.As(err, &failed):
		view.Failure = &placed{Text: failed.Err.Error(), Place: failed.Place, Node: failed.Node}
	default:
		view.Fault = &placed{Text: sentence(err)}
	}
	for _, f := range trial.Findings {
		view.Findings = append(view.Findings, placed{Text: f.Message, Line: f.Line, Node: f.Node})
	}
	for _, unmatched := range trial.Unmatched {
		view.Findings = append(view.Findings, placed{Text: unmatched})
	}
	for _, made := range trial.Statements[:min(len(trial.Statements), maxShown)] {
		s := statementView{Subject: termOf(made.Subject), Predicate: termOf(made.Predicate), Object: termOf(made.Object),
			Line: made.Line, Node: made.Node}
		if made.Graph != (rdf.Term{}) {
			graph := termOf(made.Graph)
			s.Graph = &graph
		}
		view.Statements = append(view.Statements, s)
	}
	view.More = len(trial.Statements) - len(view.Statements)
	return view
}

// workbenchView is the page of the workbench.
type workbenchView struct {
	shell.Frame
	Request trialRequest
	Result  *trialView // nil before the first trial
	Inputs  []annotate.InputFormat
	Outputs []annotate.OutputFormat
	Channel string // whose mapping it is, empty if it is none's
	Stored  map[string]annotate.Mapping
	Fault   string
}

// workbench shows the mapping of a channel or of a stored annotation, or an empty page.
func (p *pages) workbench(w http.ResponseWriter, r *http.Request) error {
	v := p.workbenchView(r)
	q := r.URL.Query()
	if id := q.Get("channel"); id != "" {
		c, err := p.manager.Get(id)
		if err != nil {
			return channelError(err, id)
		}
		v.Channel, v.Request = id, requestOf(c.Mapping)
	}
	if id := q.Get("annotation"); id != "" {
		m, err := p.manager.Annotations().Get(r.Context(), id)
		if err != nil {
			return &httpapi.Error{Status: http.StatusNotFound, Detail: "There is no annotation " + id + "."}
		}
		v.Request = requestOf(m)
	}
	return p.part.Show(w, r, http.StatusOK, "workbench.html", v)
}

func requestOf(m annotate.Mapping) trialRequest {
	return trialRequest{RML: m.RML, InputFormat: m.InputFormat, OutputFormat: m.OutputFormat}
}

func (p *pages) workbenchView(r *http.Request) *workbenchView {
	v := &workbenchView{Frame: p.part.Frame(r, "Workbench", shell.Crumb{Name: "Workbench", Href: "workbench"}),
		Inputs: annotate.InputFormats(), Outputs: annotate.OutputFormats()}
	if stored, err := p.manager.Annotations().List(r.Context()); err == nil {
		v.Stored = stored
	}
	return v
}

// work is the workbench without scripts: it tries the mapping of a form, suggests one for the
// message, or puts it to use.
func (p *pages) work(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxTrialBody)
	if err := r.ParseForm(); err != nil {
		return &httpapi.Error{Status: http.StatusBadRequest, Detail: "The form cannot be read.", Err: err}
	}
	v := p.workbenchView(r)
	form := r.PostForm
	v.Channel = form.Get("channel")
	v.Request = trialRequest{Message: form.Get("message"), RML: form.Get("rml"),
		InputFormat: annotate.InputFormat(form.Get("inputFormat")), OutputFormat: annotate.OutputFormat(form.Get("outputFormat"))}
	if form.Get("action") == "suggest" {
		s, err := suggest.Mapping([]byte(v.Request.Message), nil)
		if err != nil {
			v.Fault = sentence(err)
			return p.part.Show(w, r, http.StatusUnprocessableEntity, "workbench.html", v)
		}
		v.Request.RML, v.Request.InputFormat = s.Mapping, annotate.InputFormat(s.Format)
	}
	release, err := p.trials.Take()
	if err != nil {
		return err
	}
	defer release()
	result := run(r.Context(), v.Request)
	v.Result = &result
	return p.part.Show(w, r, http.StatusOK, "workbench.html", v)
}

// suggest answers a script with a first mapping for a message.
func (p *pages) suggest(w http.ResponseWriter, r *http.Request) error {
	data, err := httpapi.ReadBody(r, "text/plain", suggest.MaxSample)
	if err != nil {
		return err
	}
	s, err := suggest.Mapping(data, nil)
	if err != nil {
		return &httpapi.Error{Status: http.StatusUnprocessableEntity, Detail: sentence(err)}
	}
	return httpapi.WriteJSON(w, requestOf(annotate.Mapping{RML: s.Mapping, InputFormat: annotate.InputFormat(s.Format)}))
}

// useMapping gives a channel the mapping of a form.
func (p *pages) useMapping(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxTrialBody)
	if err := r.ParseForm(); err != nil {
		return &httpapi.Error{Status: http.StatusBadRequest, Detail: "The form cannot be read.", Err: err}
	}
	id := r.PathValue("id")
	c, err := p.manager.Get(id)
	if err != nil {
		return channelError(err, id)
	}
	m := c.Mapping
	m.RML, m.InputFormat = r.PostForm.Get("rml"), annotate.InputFormat(r.PostForm.Get("inputFormat"))
	m.OutputFormat = annotate.OutputFormat(r.PostForm.Get("outputFormat"))
	if err := p.manager.SetMapping(r.Context(), id, m); err != nil {
		return channelError(err, id)
	}
	return shell.SeeOther(w, "../../"+channelHref(id), "The channel has the new mapping.")
}

// storeMapping stores the mapping of a form as an annotation.
func (p *pages) storeMapping(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxTrialBody)
	if err := r.ParseForm(); err != nil {
		return &httpapi.Error{Status: http.StatusBadRequest, Detail: "The form cannot be read.", Err: err}
	}
	id, err := p.manager.Annotations().Add(r.Context(), annotate.Mapping{Name: r.PostForm.Get("mappingName"),
		RML: r.PostForm.Get("rml"), InputFormat: annotate.InputFormat(r.PostForm.Get("inputFormat")),
		OutputFormat: annotate.OutputFormat(r.PostForm.Get("outputFormat"))})
	if err != nil {
		return err
	}
	return shell.SeeOther(w, "workbench?annotation="+id, "The annotation is stored as "+id+".")
}
