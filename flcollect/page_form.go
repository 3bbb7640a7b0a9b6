package flcollect

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/internal/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

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
	if v.Form.Get(jobconfig.Homomorphic) != "" {
		conf := map[string]any{}
		put(conf, "poly_modulus_degree", v.Form.Get("homomorphic.poly_modulus_degree"))
		put(conf, "scale_bits", v.Form.Get("homomorphic.scale_bits"))
		var sizes []any
		for _, size := range strings.FieldsFunc(v.Form.Get("homomorphic.coeff_mod_bit_sizes"), func(c rune) bool { return c == ',' || c == ' ' }) {
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
	for mechanism, prefix := range map[string]string{dp.Mechanism: "dp", jobconfig.Homomorphic: "homomorphic"} {
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
