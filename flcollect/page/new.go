package page

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/internal/detail"
	"github.com/iotenablers/enablers/flcollect/internal/jobform"
	"github.com/iotenablers/enablers/flcollect/internal/view"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// newView is the page on which a job is made.
type newView struct {
	shell.Frame
	*jobform.Form
	Estimate string
}

func (p *pages) newView(r *http.Request, values url.Values) *newView {
	return &newView{Frame: p.part.Frame(r, "New job"), Form: jobform.New(values, p.jobs.Strategies())}
}

// maxForm is the largest form of a job in bytes.
const maxForm = 2 * jobconfig.MaxSize

// new answers with an empty form, or with one that has the configuration of another job.
func (p *pages) new(w http.ResponseWriter, r *http.Request) error {
	values := url.Values{"rounds": {"10"}, "clients": {"2"}, "client.epochs": {"1"}, "configuration_id": {"1"}}
	if id := r.URL.Query().Get("from"); id != "" {
		status, err := view.Find(r.Context(), p.jobs, id)
		if err != nil {
			return err
		}
		if values, err = jobform.Values(status.Config); err != nil {
			return err
		}
	}
	v := p.newView(r, values)
	return p.part.Show(w, r, http.StatusOK, "new.html", v)
}

// readForm reads the form of a request into a view.
func (p *pages) readForm(w http.ResponseWriter, r *http.Request) (*newView, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	err := r.ParseMultipartForm(maxForm) // as scripts send it
	if errors.Is(err, http.ErrNotMultipart) {
		err = r.ParseForm()
	}
	if err != nil {
		return nil, &httpapi.Error{Status: http.StatusBadRequest, Detail: "The form cannot be read.", Err: err}
	}
	return p.newView(r, r.PostForm), nil
}

// create starts the job of a form, or shows the form again: with the parameters of another
// strategy, with what the job costs in privacy, or with what is wrong.
func (p *pages) create(w http.ResponseWriter, r *http.Request) error {
	v, err := p.readForm(w, r)
	if err != nil {
		return err
	}
	switch r.PostForm.Get("action") {
	case "strategy":
		return p.part.Show(w, r, http.StatusOK, "new.html", v)
	case "estimate":
		if config, err := v.Config(); err != nil {
			v.blame(err)
		} else {
			v.Estimate = estimateText(config)
		}
		return p.part.Show(w, r, http.StatusOK, "new.html", v)
	}
	id, err := p.start(r, v)
	if err == nil {
		return shell.SeeOther(w, "live/"+url.PathEscape(id), "The job "+id+" is started.")
	}
	if !v.blame(err) {
		return err
	}
	return p.part.Show(w, r, http.StatusUnprocessableEntity, "new.html", v)
}

// start starts the job of a form.
func (p *pages) start(r *http.Request, v *newView) (id string, err error) {
	config, err := v.Config()
	if err != nil {
		return "", err
	}
	id = v.Get("id")
	if id == "" {
		id = "job-" + time.Now().UTC().Format("20060102-150405")
	}
	if err := jobconfig.CheckID(id); err != nil {
		return "", errID(jobform.Sentence(err.Error()))
	}
	status, err := p.jobs.Status(r.Context(), id)
	if err != nil {
		return "", err
	}
	if status.State != report.Inactive {
		return "", errID("There is a job " + id + " already. Choose another identifier, or train that one anew on its page.")
	}
	return id, p.jobs.Start(r.Context(), id, config)
}

// estimate answers with what the job of a form costs in privacy, for the script of the form.
func (p *pages) estimate(w http.ResponseWriter, r *http.Request) error {
	v, err := p.readForm(w, r)
	if err != nil {
		return err
	}
	answer := struct {
		Text   string            `json:"text"`
		Faults map[string]string `json:"faults,omitempty"`
	}{}
	config, err := v.Cost()
	switch {
	case err == nil:
		answer.Text = estimateText(config)
	case v.blame(err):
		answer.Faults = v.Faults()
	default:
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, answer)
}

// estimateText says what a job costs in privacy.
func estimateText(config jobconfig.Config) string {
	if config.DPAdaptive == nil {
		return "Without differential privacy there is no bound on what the model tells about a client."
	}
	e, err := dp.Forecast(config.DPAdaptive, config.Rounds)
	if err != nil {
		return jobform.Sentence(detail.All(err)[0].Msg)
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
	rounds := strconv.Itoa(config.Rounds) + " rounds"
	if config.Rounds == 1 {
		rounds = "1 round"
	}
	text := fmt.Sprintf("Epsilon will be %s after %s, with delta %s; the first round costs %s. ",
		number(e.Epsilon), rounds, number(e.Delta), number(e.Round))
	if e.Affordable < config.Rounds {
		text += fmt.Sprintf("The budget ends the training after round %d. ", e.Affordable)
	}
	switch {
	case e.Epsilon <= 1:
		return text + "That is strong: the model hardly depends on any one client."
	case e.Epsilon <= 10:
		return text + "That is usual in practice."
	}
	return text + "That is weak: more noise or fewer rounds make it less."
}

// errID says what is wrong with the identifier of a job.
type errID string

// Error implements error.
func (e errID) Error() string { return string(e) }

// blame notes what is wrong with the form at its fields, and reports whether the form is to
// blame.
func (v *newView) blame(err error) bool {
	var id errID
	var config *jobconfig.Error
	switch {
	case errors.As(err, &id):
		v.Find("id").Fault = string(id)
	case errors.As(err, &config):
		v.Blame(config.Faults)
	case errors.Is(err, flcollect.ErrActive):
		v.Find("id").Fault = "The job is being trained with another configuration."
	default:
		details := detail.All(err)
		for _, d := range details {
			v.Note(d.Loc[1:], d.Msg) // behind "body"
		}
		return details != nil
	}
	return true
}
