package jobform

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// Config returns the configuration of the form. It goes through the form of the REST
// interface, so that both say the same of a fault.
func (f *Form) Config() (jobconfig.Config, error) {
	body, err := json.Marshal(f.body())
	if err != nil {
		return jobconfig.Config{}, err
	}
	return jobconfig.Parse(body)
}

// Cost returns the rounds and the privacy mechanisms of the form, whatever its other
// fields have.
func (f *Form) Cost() (jobconfig.Config, error) {
	body := f.body()
	body["strategy"], body["strategy_conf"] = jobconfig.Averaging, map[string]any{}
	body["model_name"], body["model_version"], body["configuration_id"] = "any", "any", 1
	body["client_conf"], body["stopping_target"] = []any{}, nil
	server := body["server_conf"].(map[string]any)
	delete(server, "round_timeout")
	delete(server, "async")
	text, err := json.Marshal(body)
	if err != nil {
		return jobconfig.Config{}, err
	}
	return jobconfig.Parse(text)
}

// body returns the form as the body of POST /job/config/{id}.
func (f *Form) body() map[string]any {
	conf := map[string]any{}
	f.take(conf, "conf.", f.Common)
	f.take(conf, "bounds.", f.Bounds)
	for _, d := range f.Strategies {
		if d.Name == f.Chosen() {
			f.take(conf, "conf."+d.Name+".", f.Own(d))
		}
	}
	putLines(conf, f.Values.Get("further"))
	clients := strings.TrimSpace(f.Values.Get("clients"))
	mechanisms := f.mechanisms(clients)
	private, _ := mechanisms[dp.Mechanism].(map[string]any)
	drawsEach := dp.SamplingRate(private) < 1
	for _, name := range []string{"min_available_clients", "min_fit_clients", "min_evaluate_clients"} {
		if conf[name] == nil && clients != "" && !(name == "min_fit_clients" && drawsEach) {
			conf[name] = scalarOf(clients)
		}
	}
	server, client := map[string]any{}, map[string]any{}
	put(server, "num_rounds", f.Values.Get("rounds"))
	put(server, "round_timeout", f.Values.Get("timeout"))
	app := strings.TrimSpace(f.Values.Get("app"))
	if app != "" {
		put(server, "records", f.Values.Get("records"))
	}
	putList(server, "compression", f.Values.Get("compression"))
	putList(server, "local_layers", f.Values.Get("local_layers"))
	if tiers := strings.TrimSpace(f.Values.Get("tiers")); tiers != "" {
		server["sampling"] = map[string]any{"by": "speed", "tiers": scalarOf(tiers)}
	}
	if f.Values.Get("async") != "" {
		async := map[string]any{}
		f.take(async, "async.", f.Async)
		server["async"] = async
	}
	for _, name := range []string{"epochs", "batch_size", "steps_per_epoch", "learning_rate"} {
		put(client, name, f.Values.Get("client."+name))
	}
	putLines(client, f.Values.Get("client.further"))
	targets := map[string]any{}
	putLines(targets, f.Values.Get("targets"))
	for name, given := range targets {
		if text, ok := given.(string); ok && strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
			targets[name] = json.RawMessage(text)
		}
	}
	name := f.Chosen()
	if name == otherStrategy {
		name = strings.TrimSpace(f.Values.Get("strategyName"))
	}
	body := map[string]any{
		"strategy": name, "model_name": strings.TrimSpace(f.Values.Get("model_name")),
		"model_version":    strings.TrimSpace(f.Values.Get("model_version")),
		"configuration_id": strings.TrimSpace(f.Values.Get("configuration_id")),
		"server_conf":      server, "strategy_conf": conf, "client_conf": []any{client}, "privacy-mechanisms": mechanisms,
	}
	if app != "" {
		body["app"] = app
	}
	if len(targets) > 0 {
		body["stopping_flag"], body["stopping_target"] = true, targets
	}
	return body
}

// mechanisms returns the privacy mechanisms of the form.
func (f *Form) mechanisms(clients string) map[string]any {
	made := map[string]any{}
	if f.Values.Get("dp") != "" {
		conf := map[string]any{}
		f.take(conf, "dp.", f.Privacy)
		if conf["num_sampled_clients"] == nil {
			put(conf, "num_sampled_clients", clients)
		}
		made[dp.Mechanism] = conf
	}
	if f.Values.Get(jobconfig.Homomorphic) != "" {
		conf := map[string]any{}
		put(conf, "poly_modulus_degree", f.Values.Get("homomorphic.poly_modulus_degree"))
		put(conf, "scale_bits", f.Values.Get("homomorphic.scale_bits"))
		var sizes []any
		separates := func(c rune) bool { return c == ',' || c == ' ' }
		for _, size := range strings.FieldsFunc(f.Values.Get("homomorphic.coeff_mod_bit_sizes"), separates) {
			sizes = append(sizes, scalarOf(size))
		}
		if sizes != nil {
			conf["coeff_mod_bit_sizes"] = sizes
		}
		made[jobconfig.Homomorphic] = conf
	}
	if f.Values.Get(jobconfig.SecAgg) != "" {
		conf := map[string]any{}
		f.take(conf, jobconfig.SecAgg+".", f.Masking)
		made[jobconfig.SecAgg] = conf
	}
	return made
}

// take puts the parameters that are given into an object.
func (f *Form) take(into map[string]any, prefix string, parameters []strategy.Parameter) {
	for _, p := range parameters {
		put(into, p.Name, f.Values.Get(prefix+p.Name))
	}
}

// put puts a value into an object, unless it is empty.
func put(into map[string]any, name, text string) {
	if text = strings.TrimSpace(text); text != "" {
		into[name] = scalarOf(text)
	}
}

// putList puts a list into an object, of elements between commas or spaces.
func putList(into map[string]any, name, text string) {
	separates := func(c rune) bool { return c == ',' || c == ' ' }
	if list := strings.FieldsFunc(text, separates); len(list) > 0 {
		into[name] = list
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

// Of returns the values of a form that has a configuration.
func Of(config jobconfig.Config) (url.Values, error) {
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
		"configuration_id": {config.ConfigurationID}, "rounds": {Plain(body.Server["num_rounds"])},
		"timeout": {Plain(body.Server["round_timeout"])}}
	if config.App != "" {
		form["app"], form["records"] = []string{config.App}, []string{config.Records}
	}
	form.Set("local_layers", strings.Join(config.LocalLayers, ", "))
	if config.SpeedTiers > 0 {
		form.Set("tiers", strconv.Itoa(config.SpeedTiers))
	}
	form.Set("compression", strings.Join(config.Compression, ", "))
	d, known := strategy.Describe(config.Strategy)
	if !known {
		form.Set("strategy", otherStrategy)
		form.Set("strategyName", config.Strategy)
	}
	f := New(form, []strategy.Description{d})
	for _, name := range sortedNames(body.Conf) {
		at := f.parameterField(name)
		switch at {
		case "further":
			form.Set(at, form.Get(at)+name+": "+Plain(body.Conf[name])+"\n")
		case "clients":
			form.Set("conf."+name, Plain(body.Conf[name]))
		default:
			form.Set(at, Plain(body.Conf[name]))
		}
	}
	if len(body.Clients) > 0 {
		for _, name := range sortedNames(body.Clients[0]) {
			if f.has("client." + name) {
				form.Set("client."+name, Plain(body.Clients[0][name]))
				continue
			}
			form.Set("client.further", form.Get("client.further")+name+": "+Plain(body.Clients[0][name])+"\n")
		}
	}
	if async := config.Async; async != nil {
		form.Set("async", "1")
		for name, value := range map[string]int{"async.buffer": async.Buffer, "async.concurrency": async.Concurrency} {
			if value > 0 {
				form.Set(name, strconv.Itoa(value))
			}
		}
		if async.Staleness != nil {
			form.Set("async.staleness", strconv.FormatFloat(*async.Staleness, 'g', -1, 64))
		}
	}
	for _, mechanism := range []string{dp.Mechanism, jobconfig.Homomorphic, jobconfig.SecAgg} {
		if conf, there := body.Privacy[mechanism]; there {
			prefix := mechanismField(mechanism, "")
			form.Set(prefix, "1")
			for name, value := range conf {
				form.Set(prefix+"."+name, strings.Trim(Plain(value), "[]"))
			}
		}
	}
	for _, name := range sortedNames(body.Targets) {
		form.Set("targets", form.Get("targets")+name+": "+Plain(body.Targets[name])+"\n")
	}
	return form, nil
}

// Plain returns a value of JSON as text: text without its quotes.
func Plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

func sortedNames(object map[string]json.RawMessage) []string { return slices.Sorted(maps.Keys(object)) }
