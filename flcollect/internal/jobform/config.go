package jobform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/internal/form"
)

// Config returns the configuration of the form. It goes through the form of the REST
// interface, so that both say the same of a fault.
func (f *Form) Config() (jobconfig.Config, error) { return parse(f.body()) }

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
	return parse(body)
}

func parse(body map[string]any) (jobconfig.Config, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return jobconfig.Config{}, err
	}
	return jobconfig.Parse(text)
}

// body returns the form as the body of POST /job/config/{id}.
func (f *Form) body() map[string]any {
	server, conf, client, mechanisms := map[string]any{}, map[string]any{}, map[string]any{}, map[string]any{}
	body := map[string]any{"server_conf": server, "strategy_conf": conf, "client_conf": client, "privacy-mechanisms": mechanisms}
	for _, field := range f.Group("privacy") {
		if field.Value != "" {
			mechanisms[strings.TrimPrefix(field.Path, atPrivacy)] = map[string]any{}
		}
	}
	if f.Get("async") != "" {
		server["async"] = map[string]any{}
	}
	active := f.active()
	active.Read(f.values, body)
	active.Each(func(field *form.Field) { field.Fault = "" }) // the parser of the REST interface finds them
	for _, name := range []string{"id", "clients"} {          // are no members
		delete(body, name)
	}
	body["client_conf"] = []any{client}
	if sampling, ok := server["sampling"].(map[string]any); ok {
		sampling["by"] = "speed"
	}
	if homomorphic, ok := mechanisms[jobconfig.Homomorphic].(map[string]any); ok {
		sizes, _ := homomorphic["coeff_mod_bit_sizes"].([]any)
		for i, size := range sizes {
			sizes[i] = form.ScalarFrom(size.(string))
		}
	}
	putLines(conf, f.Get("further"))
	putLines(client, f.Get("client.further"))
	if targets := f.targets(); len(targets) > 0 {
		body["stopping_flag"], body["stopping_target"] = true, targets
	}
	body["strategy"] = f.Chosen()
	if f.Chosen() == otherStrategy {
		body["strategy"] = f.Get("strategyName")
	}
	f.putClients(conf, mechanisms)
	return body
}

// putClients gives the number of clients to the parameters that are not given.
func (f *Form) putClients(conf, mechanisms map[string]any) {
	clients := f.Get("clients")
	private, isPrivate := mechanisms[dp.Mechanism].(map[string]any)
	if isPrivate && private["num_sampled_clients"] == nil {
		put(private, "num_sampled_clients", clients)
	}
	drawsEach := dp.SamplingRate(private) < 1
	for _, name := range []string{"min_available_clients", "min_fit_clients", "min_evaluate_clients"} {
		if conf[name] == nil && !(name == "min_fit_clients" && drawsEach) {
			put(conf, name, clients)
		}
	}
}

func (f *Form) targets() map[string]any {
	targets := map[string]any{}
	putLines(targets, f.Get("targets"))
	for name, given := range targets {
		if text, ok := given.(string); ok && strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
			targets[name] = json.RawMessage(text)
		}
	}
	return targets
}

// put puts a value into an object, unless it is empty.
func put(into map[string]any, name, text string) {
	if text = strings.TrimSpace(text); text != "" {
		into[name] = form.ScalarFrom(text)
	}
}

// putLines puts values into an object, from lines of NAME: VALUE.
func putLines(into map[string]any, text string) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		put(into, strings.TrimSpace(name), value)
	}
}

// Values returns the values of a form that has a configuration.
func Values(config jobconfig.Config) (url.Values, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	var body map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // which keeps the types of parameters
	if err := decoder.Decode(&body); err != nil {
		return nil, err
	}
	client := map[string]any{}
	if clients, _ := body["client_conf"].([]any); len(clients) > 0 {
		client, _ = clients[0].(map[string]any)
	}
	body["client_conf"] = client

	values := url.Values{"strategy": {config.Strategy}}
	d, known := strategy.Describe(config.Strategy)
	if !known {
		values = url.Values{"strategy": {otherStrategy}, "strategyName": {config.Strategy}}
	}
	for name, isOn := range map[string]bool{"async": config.Async != nil, "app": config.App != "", "dp": config.DPAdaptive != nil,
		jobconfig.Homomorphic: config.Homomorphic != nil, jobconfig.SecAgg: config.SecAgg != nil} {
		if isOn {
			values.Set(name, "true")
		}
	}
	f := New(values, []strategy.Description{d})
	paths := map[string]bool{}
	active := f.active()
	active.Show(body)
	active.Each(func(field *form.Field) {
		values.Set(field.Name, field.Value)
		paths[field.Path] = true
	})
	targets, _ := body["stopping_target"].(map[string]any)
	conf, _ := body["strategy_conf"].(map[string]any)
	values.Set("further", lines(conf, func(name string) bool { return !paths[atStrategy+name] }))
	values.Set("client.further", lines(client, func(name string) bool { return !paths[atClient+name] }))
	values.Set("targets", lines(targets, func(string) bool { return true }))
	return values, nil
}

// lines returns members of an object as lines of NAME: VALUE.
func lines(object map[string]any, shown func(name string) bool) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if raw, err := json.Marshal(object[name]); err == nil && shown(name) {
			fmt.Fprintf(&text, "%s: %s\n", name, Plain(raw))
		}
	}
	return text.String()
}

// Plain returns a value of JSON as text: text without its quotes.
func Plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
