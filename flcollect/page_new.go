package flcollect

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/internal/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/internal/httpapi"
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

// maxForm is the largest form of a job in bytes.
const maxForm = 2 * MaxJobConfig

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

// formError has the faults of a form by its fields.
type formError map[string]string

// Error implements error.
func (e formError) Error() string { return fmt.Sprintf("the form has %d faults", len(e)) }

// blame notes what is wrong with the form at its fields, and reports whether the form is to
// blame.
func (v *newView) blame(err error) bool {
	var own formError
	var config *JobConfigError
	switch {
	case errors.As(err, &own):
		v.Faults = own
	case errors.As(err, &config):
		for _, fault := range config.Faults {
			text := fault.String()
			if len(fault.Path) > 0 {
				_, text, _ = strings.Cut(text, ": ")
			}
			v.note(fault.Path, text)
		}
	case errors.Is(err, ErrActive):
		v.Faults["id"] = "The job is being trained with another configuration."
	default:
		details := detailsOf(err)
		for _, d := range details {
			v.note(d.Loc[1:], d.Msg) // behind "body"
		}
		return details != nil
	}
	return true
}

// note notes a fault at the field of a place in the configuration.
func (v *newView) note(path []any, text string) {
	steps := make([]string, len(path), 3)
	for i, step := range path {
		steps[i] = fmt.Sprint(step)
	}
	name := strings.Join(steps, ".")
	steps = append(steps, "", "", "")
	switch steps[0] {
	case "strategy":
		if v.Chosen() == otherStrategy {
			name = "strategyName"
		}
	case "server_conf":
		name = map[string]string{"num_rounds": "rounds", "round_timeout": "timeout"}[steps[1]]
	case "strategy_conf":
		name = v.parameterField(steps[1])
	case "client_conf":
		name = "client." + steps[2]
	case "privacy-mechanisms":
		name = map[string]string{dp.Mechanism: "dp.", jobconfig.Homomorphic: "he."}[steps[1]] + steps[2]
	case "stopping_target":
		name = "targets"
	}
	text = sentence(text)
	if _, there := v.Faults[name]; there || !v.has(name) {
		v.Fault = strings.TrimSpace(v.Fault + " " + strings.Join(steps[:len(path)], ".") + ": " + text)
		return
	}
	v.Faults[name] = text
}

// parameterField returns the field of a parameter of the strategy.
func (v *newView) parameterField(name string) string {
	switch {
	case strings.HasPrefix(name, "min_") && strings.HasSuffix(name, "_clients") && v.Form.Get("conf."+name) == "":
		return "clients"
	case v.isCommon(name):
		return "conf." + name
	case strings.HasPrefix(name, "norm_"):
		return "bounds." + name
	}
	if own := "conf." + v.Chosen() + "." + name; v.has(own) {
		return own
	}
	return "further"
}

// has reports whether the form has a field of the name, chosen or not.
func (v *newView) has(name string) bool {
	fixed := []string{"id", "model_name", "model_version", "configuration_id", "rounds", "timeout", "clients", "strategy", "strategyName",
		"further", "targets", "client.epochs", "client.batch_size", "client.steps_per_epoch", "client.learning_rate",
		"he.poly_modulus_degree", "he.coeff_mod_bit_sizes", "he.scale_bits"}
	if slices.Contains(fixed, name) {
		return true
	}
	among := func(prefix string, parameters []strategy.Parameter) bool {
		return slices.ContainsFunc(parameters, func(p strategy.Parameter) bool { return prefix+p.Name == name })
	}
	return among("conf.", v.Common) || among("bounds.", v.Bounds) || among("dp.", v.Privacy) ||
		slices.ContainsFunc(v.Strategies, func(d strategy.Description) bool { return among("conf."+d.Name+".", v.Own(d)) })
}

// config returns the configuration of the form. It goes through the form of the REST
// interface, so that both say the same of a fault.
func (v *newView) config() (JobConfig, error) {
	body, err := json.Marshal(v.body())
	if err != nil {
		return JobConfig{}, err
	}
	return ParseJobConfig(body)
}

// privacy returns the rounds and the privacy mechanisms of the form, whatever its other
// fields have.
func (v *newView) privacy() (JobConfig, error) {
	body := v.body()
	body["strategy"], body["strategy_conf"] = jobconfig.Averaging, map[string]any{}
	body["model_name"], body["model_version"], body["configuration_id"] = "any", "any", 1
	body["client_conf"], body["stopping_target"] = []any{}, nil
	delete(body["server_conf"].(map[string]any), "round_timeout")
	text, err := json.Marshal(body)
	if err != nil {
		return JobConfig{}, err
	}
	return ParseJobConfig(text)
}

// body returns the form as the body of POST /job/config/{id}.
func (v *newView) body() map[string]any {
	conf := map[string]any{}
	v.take(conf, "conf.", v.Common)
	v.take(conf, "bounds.", v.Bounds)
	for _, d := range v.Strategies {
		if d.Name == v.Chosen() {
			v.take(conf, "conf."+d.Name+".", v.Own(d))
		}
	}
	putLines(conf, v.Form.Get("further"))
	clients := strings.TrimSpace(v.Form.Get("clients"))
	for _, name := range []string{"min_available_clients", "min_fit_clients", "min_evaluate_clients"} {
		if conf[name] == nil && clients != "" {
			conf[name] = scalarOf(clients)
		}
	}
	server, client := map[string]any{}, map[string]any{}
	put(server, "num_rounds", v.Form.Get("rounds"))
	put(server, "round_timeout", v.Form.Get("timeout"))
	for _, name := range []string{"epochs", "batch_size", "steps_per_epoch", "learning_rate"} {
		put(client, name, v.Form.Get("client."+name))
	}
	putLines(client, v.Form.Get("client.further"))
	targets := map[string]any{}
	putLines(targets, v.Form.Get("targets"))
	name := v.Chosen()
	if name == otherStrategy {
		name = strings.TrimSpace(v.Form.Get("strategyName"))
	}
	body := map[string]any{
		"strategy": name, "model_name": strings.TrimSpace(v.Form.Get("model_name")),
		"model_version": strings.TrimSpace(v.Form.Get("model_version")), "configuration_id": strings.TrimSpace(v.Form.Get("configuration_id")),
		"server_conf": server, "strategy_conf": conf, "client_conf": []any{client}, "privacy-mechanisms": v.mechanisms(clients),
	}
	if len(targets) > 0 {
		body["stopping_flag"], body["stopping_target"] = true, targets
	}
	return body
}

// mechanisms returns the privacy mechanisms of the form.
func (v *newView) mechanisms(clients string) map[string]any {
	made := map[string]any{}
	if v.Form.Get("dp") != "" {
		conf := map[string]any{}
		v.take(conf, "dp.", v.Privacy)
		if conf["num_sampled_clients"] == nil {
			put(conf, "num_sampled_clients", clients)
		}
		made[dp.Mechanism] = conf
	}
	if v.Form.Get("he") != "" {
		conf := map[string]any{}
		put(conf, "poly_modulus_degree", v.Form.Get("he.poly_modulus_degree"))
		put(conf, "scale_bits", v.Form.Get("he.scale_bits"))
		var sizes []any
		for _, size := range strings.FieldsFunc(v.Form.Get("he.coeff_mod_bit_sizes"), func(c rune) bool { return c == ',' || c == ' ' }) {
			sizes = append(sizes, scalarOf(size))
		}
		if sizes != nil {
			conf["coeff_mod_bit_sizes"] = sizes
		}
		made[jobconfig.Homomorphic] = conf
	}
	return made
}

// take puts the parameters that are given into an object.
func (v *newView) take(into map[string]any, prefix string, parameters []strategy.Parameter) {
	for _, p := range parameters {
		put(into, p.Name, v.Form.Get(prefix+p.Name))
	}
}

// put puts a value into an object, unless it is empty.
func put(into map[string]any, name, text string) {
	if text = strings.TrimSpace(text); text != "" {
		into[name] = scalarOf(text)
	}
}

// putLines puts values into an object, from lines of NAME: VALUE.
func putLines(into map[string]any, text string) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		put(into, strings.TrimSpace(name), value)
	}
}

// scalarOf returns text as the value that it reads as in JSON: a number, a truth value, or
// text.
func scalarOf(text string) any {
	var value any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) == nil && decoder.InputOffset() == int64(len(text)) {
		switch value.(type) {
		case json.Number, bool:
			return value
		}
	}
	return text
}

// sentence returns a text that names what is wrong as a sentence.
func sentence(text string) string {
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

// formOf returns a form that has a configuration.
func formOf(config JobConfig) (url.Values, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	var body struct {
		Server  map[string]json.RawMessage            `json:"server_conf"`
		Conf    map[string]json.RawMessage            `json:"strategy_conf"`
		Clients []map[string]json.RawMessage          `json:"client_conf"`
		Privacy map[string]map[string]json.RawMessage `json:"privacy-mechanisms"`
		Targets map[string]json.RawMessage            `json:"stopping_target"`
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return nil, err
	}
	form := url.Values{"strategy": {config.Strategy}, "model_name": {config.ModelName}, "model_version": {config.ModelVersion},
		"configuration_id": {config.ConfigurationID}, "rounds": {plain(body.Server["num_rounds"])}, "timeout": {plain(body.Server["round_timeout"])}}
	d, known := strategy.Describe(config.Strategy)
	if !known {
		form.Set("strategy", otherStrategy)
		form.Set("strategyName", config.Strategy)
	}
	v := newView{Form: form, Bounds: strategy.DescribeBounds()}
	if common, ok := strategy.Describe(jobconfig.Averaging); ok {
		v.Common = common.Parameters
	}
	v.Strategies = []strategy.Description{d}
	for _, name := range sortedNames(body.Conf) {
		at := v.parameterField(name)
		switch at {
		case "further":
			form.Set(at, form.Get(at)+name+": "+plain(body.Conf[name])+"\n")
		case "clients":
			form.Set("conf."+name, plain(body.Conf[name]))
		default:
			form.Set(at, plain(body.Conf[name]))
		}
	}
	if len(body.Clients) > 0 {
		for _, name := range sortedNames(body.Clients[0]) {
			if v.has("client." + name) {
				form.Set("client."+name, plain(body.Clients[0][name]))
				continue
			}
			form.Set("client.further", form.Get("client.further")+name+": "+plain(body.Clients[0][name])+"\n")
		}
	}
	for mechanism, prefix := range map[string]string{dp.Mechanism: "dp", jobconfig.Homomorphic: "he"} {
		if conf, there := body.Privacy[mechanism]; there {
			form.Set(prefix, "1")
			for name, value := range conf {
				form.Set(prefix+"."+name, strings.Trim(plain(value), "[]"))
			}
		}
	}
	for _, name := range sortedNames(body.Targets) {
		form.Set("targets", form.Get("targets")+name+": "+plain(body.Targets[name])+"\n")
	}
	return form, nil
}
