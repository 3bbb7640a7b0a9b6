package page

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/rest"
	"github.com/iotenablers/enablers/annotate/rml/suggest"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// exampleSample is the message that the workbench shows to who has none.
const exampleSample = `{
  "station": "EWR",
  "time": "2026-01-01T06:00:00Z",
  "temperature": 3.9,
  "sensors": [
    {"id": "w1", "kind": "wind", "value": 10.4},
    {"id": "r1", "kind": "rain", "value": 0}
  ]
}
`

// loadable is how many stored annotations the workbench offers.
const loadable = 100

// workbench is the page on which mappings are tried, among the pages of a manager.
type workbench struct {
	*pages
	trials *httpapi.Slots
}

func newWorkbench(p *pages) *workbench {
	return &workbench{p, httpapi.NewSlots(trials, "Too many mappings are tried at the moment. Please try again.")}
}

func (b *workbench) routes() []httpapi.Route {
	return []httpapi.Route{
		{Pattern: "GET /workbench", Func: b.show},
		{Pattern: "GET /channels/{id}/failures/{number}/workbench", Func: b.showMessage(failedMessages()), Role: httpapi.Operator},
		{Pattern: "GET /channels/{id}/warnings/{number}/workbench", Func: b.showMessage(warnedMessages()), Role: httpapi.Operator},
		{Pattern: "POST /workbench", Func: b.submit, Role: httpapi.Reader},
		{Pattern: "POST /workbench/run", Func: b.try, Role: httpapi.Reader},
		{Pattern: "POST /workbench/suggest", Func: b.suggest, Role: httpapi.Reader},
		{Pattern: "POST /channels/{id}/mapping", Func: b.useMapping},
		{Pattern: "POST /annotations", Func: b.storeMapping},
	}
}

// workbenchView is the page of the workbench.
type workbenchView struct {
	shell.Frame
	Request trialRequest
	Result  *trialView // nil before the first trial
	Inputs  []annotate.InputFormat
	Outputs []annotate.OutputFormat

	Languages []annotate.MappingLanguage
	// Channel is whose mapping it is, and Name what the channel is called; both are empty if
	// it is none's.
	Channel, Name string
	// Failed is the message of the channel that failed and is the sample, nil if it is none. It was
	// Published, with a warning, if it did not fail.
	Failed    *failureForm
	Published bool
	// Stored are annotations that can be loaded; there may be more.
	Stored      []annotationView
	MappingName string
	Fault       string
}

// show shows the mapping of a channel or of a stored annotation, or an empty page.
func (b *workbench) show(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	id := q.Get("channel")
	if failure := q.Get("failure"); id != "" && failure != "" {
		// Payloads are for operators: their page is another one.
		return shell.SeeOther(w, channelHref(id)+"/failures/"+url.PathEscape(failure)+"/workbench", "")
	}
	v, err := b.view(r, id)
	if err != nil {
		return err
	}
	if stored := q.Get("annotation"); stored != "" {
		if err := b.load(r, v, stored); err != nil {
			return err
		}
	}
	return b.part.Show(w, r, http.StatusOK, "workbench.html", v)
}

// showMessage returns the handler that shows a message of a channel that failed, or that was published
// with a warning, with the mapping that the channel has now.
func (b *workbench) showMessage(messages keptMessages) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		c, err := b.get(r)
		if err != nil {
			return err
		}
		m, err := find(messages.of(b.manager.Activity(c.ID)), r.PathValue("number"))
		if err != nil {
			return err
		}
		v, err := b.view(r, c.ID)
		if err != nil {
			return err
		}
		failed := formOfFailure(m)
		v.Failed, v.Published = &failed, messages.published
		if failed.Base64 {
			v.Fault = "The message is not text and cannot be shown here."
			return b.part.Show(w, r, http.StatusOK, "workbench.html", v)
		}
		v.Request.Sample, v.Request.InputFormat = failed.Payload, m.Format
		if v.Result, err = b.run(r.Context(), v.Request); err != nil {
			return err
		}
		return b.part.Show(w, r, http.StatusOK, "workbench.html", v)
	}
}

// view returns the page with the mapping of a channel, or without one for an empty
// identifier.
func (b *workbench) view(r *http.Request, id string) (*workbenchView, error) {
	v := &workbenchView{Inputs: annotate.InputFormats(), Outputs: annotate.OutputFormats(),
		Languages: annotate.MappingLanguages()}
	v.Request.OutputFormat = annotate.Turtle
	here := shell.Crumb{Name: "Workbench", Href: "workbench"}
	trail := []shell.Crumb{here}
	if id != "" {
		c, err := b.manager.Get(id)
		if err != nil {
			return nil, rest.ChannelError(err, id)
		}
		v.Channel = id
		v.Name = cmp.Or(c.Metadata.Name, id)
		v.Request = newTrialRequest(c.Mapping)
		v.Request.Dialect = c.Dialect
		here.Href += "?channel=" + url.QueryEscape(id)
		trail = []shell.Crumb{{Name: v.Name, Href: channelHref(id)}, here}
	}
	v.Frame = b.part.Frame(r, "Workbench", trail...)
	var err error
	if v.Stored, _, err = b.storedAnnotations(r.Context(), "", loadable); errors.Is(err, manager.ErrStandalone) {
		err = nil
	}
	return v, err
}

func newTrialRequest(m annotate.Mapping) trialRequest {
	return trialRequest{Mapping: m.RML, Shapes: m.Shapes, InputFormat: m.InputFormat, OutputFormat: m.OutputFormat, Language: m.Language}
}

// load takes the mapping of a stored annotation.
func (b *workbench) load(r *http.Request, v *workbenchView, id string) error {
	m, err := b.manager.Annotations().Get(r.Context(), id)
	if err != nil {
		return rest.AnnotationError(err, id)
	}
	before := v.Request
	v.Request, v.MappingName = newTrialRequest(m), m.Name
	v.Request.Sample, v.Request.Dialect = before.Sample, before.Dialect
	return nil
}

// submit is the workbench as a form: it loads a stored mapping, suggests one for the sample, and
// shows the result of the mapping for the sample.
func (b *workbench) submit(w http.ResponseWriter, r *http.Request) error {
	if err := httpapi.ReadForm(w, r, maxForm); err != nil {
		return err
	}
	form := r.PostForm
	v, err := b.view(r, form.Get("channel"))
	if err != nil {
		return err
	}
	v.MappingName = form.Get("mappingName")
	v.Request = trialRequest{Sample: form.Get("sample"), Mapping: form.Get("rml"), Shapes: form.Get("shapes"),
		InputFormat:  annotate.InputFormat(form.Get("inputFormat")),
		OutputFormat: annotate.OutputFormat(form.Get("outputFormat")),
		Language:     annotate.MappingLanguage(form.Get("language")), Dialect: form.Get("dialect")}
	switch form.Get("action") {
	case "load":
		err = b.load(r, v, form.Get("annotation"))
	case "example":
		v.Request.Sample = exampleSample
		fallthrough
	case "suggest":
		err = v.suggest()
	}
	if err != nil {
		return err
	}
	status := http.StatusOK
	switch {
	case v.Fault != "":
		status = http.StatusUnprocessableEntity
	case v.Request.Sample != "" && v.Request.Mapping != "":
		if v.Result, err = b.run(r.Context(), v.Request); err != nil {
			return err
		}
	}
	return b.part.Show(w, r, status, "workbench.html", v)
}

// suggest takes the mapping that is suggested for the sample.
func (v *workbenchView) suggest() error {
	if err := v.Request.check(); err != nil {
		return err
	}
	s, err := suggest.Mapping([]byte(v.Request.Sample), nil)
	if err != nil {
		v.Fault = sentence(err)
		return nil
	}
	v.Request.Mapping = s.Mapping
	v.Request.InputFormat = annotate.InputFormat(s.Format)
	v.Request.Language = annotate.LanguageRML
	return nil
}

// suggest answers a script with a first mapping for a sample.
func (b *workbench) suggest(w http.ResponseWriter, r *http.Request) error {
	data, err := httpapi.ReadBody(r, "text/plain", suggest.MaxSample)
	if err != nil {
		return err
	}
	v := workbenchView{Request: trialRequest{Sample: string(data)}}
	if err := v.suggest(); err != nil {
		return err
	}
	if v.Fault != "" {
		return &httpapi.Error{Status: http.StatusUnprocessableEntity, Detail: v.Fault}
	}
	return httpapi.WriteJSON(w, trialRequest{Mapping: v.Request.Mapping, InputFormat: v.Request.InputFormat})
}

// mappingOfForm returns the mapping of the workbench's form.
func mappingOfForm(form url.Values) annotate.Mapping {
	return annotate.Mapping{Name: form.Get("mappingName"), RML: form.Get("rml"), Shapes: form.Get("shapes"),
		InputFormat:  annotate.InputFormat(form.Get("inputFormat")),
		OutputFormat: annotate.OutputFormat(form.Get("outputFormat")),
		Language:     formLanguage(form)}
}

// formLanguage returns the language of a form's mapping. RML is not stored, because it is the default.
func formLanguage(form url.Values) annotate.MappingLanguage {
	language := annotate.MappingLanguage(form.Get("language"))
	if language == annotate.LanguageRML {
		return ""
	}
	return language
}

// useMapping gives a channel the mapping of a form.
func (b *workbench) useMapping(w http.ResponseWriter, r *http.Request) error {
	if err := httpapi.ReadForm(w, r, maxForm); err != nil {
		return err
	}
	c, err := b.get(r)
	if err != nil {
		return err
	}
	m, made := c.Mapping, mappingOfForm(r.PostForm)
	m.RML = made.RML
	m.Language = made.Language
	m.Shapes = made.Shapes
	m.InputFormat, m.OutputFormat = made.InputFormat, made.OutputFormat
	if err := b.manager.SetMapping(r.Context(), c.ID, m); err != nil {
		return rest.ChannelError(err, c.ID)
	}
	return shell.SeeOther(w, "../"+url.PathEscape(c.ID), "The channel has the new mapping.")
}

// storeMapping stores the mapping of a form as an annotation.
func (b *workbench) storeMapping(w http.ResponseWriter, r *http.Request) error {
	if err := httpapi.ReadForm(w, r, maxForm); err != nil {
		return err
	}
	m := mappingOfForm(r.PostForm)
	id, err := b.manager.Annotations().Add(r.Context(), m)
	if err != nil {
		return rest.AnnotationError(err, "")
	}
	return shell.SeeOther(w, "workbench?annotation="+id, "The mapping is stored as "+strconv.Quote(cmp.Or(m.Name, id))+".")
}
