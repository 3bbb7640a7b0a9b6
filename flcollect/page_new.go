package flcollect

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/internal/jobconfig"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// maxForm is the largest form of a job in bytes.
const maxForm = 2 * MaxJobConfig

// new answers with an empty form, or with one that has the configuration of another job.
func (p *pages) new(w http.ResponseWriter, r *http.Request) error {
	v := p.newView(r)
	v.Form = url.Values{"rounds": {"10"}, "clients": {"2"}, "client.epochs": {"1"}, "configuration_id": {"1"}}
	if id := r.URL.Query().Get("from"); id != "" {
		status, err := p.rest.known(r, id)
		if err != nil {
			return err
		}
		if v.Form, err = formOf(status.Config); err != nil {
			return err
		}
	}
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
	v := p.newView(r)
	v.Form = r.PostForm
	return v, nil
}

// create starts the job of a form, or shows the form again: with the parameters of another
// strategy, with what the job costs in privacy, or with what is wrong.
func (p *pages) create(w http.ResponseWriter, r *http.Request) error {
	v, err := p.readForm(w, r)
	if err != nil {
		return err
	}
	switch v.Form.Get("action") {
	case "strategy":
		return p.part.Show(w, r, http.StatusOK, "new.html", v)
	case "estimate":
		if config, err := v.config(); err != nil {
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
	config, err := v.config()
	if err != nil {
		return "", err
	}
	id = strings.TrimSpace(v.Form.Get("id"))
	if id == "" {
		id = "job-" + time.Now().UTC().Format("20060102-150405")
	}
	if err := jobconfig.CheckID(id); err != nil {
		return "", formError{"id": sentence(err.Error())}
	}
	status, err := p.jobs.Status(r.Context(), id)
	if err != nil {
		return "", err
	}
	if status.State != Inactive {
		return "", formError{"id": "There is a job " + id + " already. Choose another identifier, or train that one anew on its page."}
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
	config, err := v.privacy()
	switch {
	case err == nil:
		answer.Text = estimateText(config)
	case v.blame(err):
		answer.Faults = v.Faults
	default:
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, answer)
}

// estimateText says what a job costs in privacy.
func estimateText(config JobConfig) string {
	if config.DPAdaptive == nil {
		return "Without differential privacy there is no bound on what the model tells about a client."
	}
	e, err := dp.Forecast(config.DPAdaptive, config.Rounds)
	if err != nil {
		return sentence(detailsOf(err)[0].Msg)
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
	rounds := strconv.Itoa(config.Rounds) + " rounds"
	if config.Rounds == 1 {
		rounds = "1 round"
	}
	text := fmt.Sprintf("Epsilon will be %s after %s, with delta %s; the first round costs %s. ", number(e.Epsilon), rounds, number(e.Delta), number(e.Round))
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
