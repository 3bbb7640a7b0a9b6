package page_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/secagg"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// send sends a form, as a page does.
func send(h http.Handler, path string, form url.Values) *httptest.ResponseRecorder {
	return jobstest.Ask(h, "POST", path, form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html")
}

// filled is a form of a job with changes; an empty value removes a field.
func filled(changes ...string) url.Values {
	form := url.Values{
		"id": {"new"}, "model_name": {"tumours"}, "model_version": {"1"}, "configuration_id": {"7"}, "rounds": {"20"}, "clients": {"3"},
		"strategy": {"FedAdam"}, "client.epochs": {"2"}, "action": {"create"},
	}
	for i := 0; i < len(changes); i += 2 {
		form.Set(changes[i], changes[i+1])
	}
	return form
}

func TestNewHandler_saysWhatParametersMean(t *testing.T) {
	b := jobstest.NewBoard()
	page := html.UnescapeString(jobstest.Ask(boardPages(b), "GET", "/new", "").Body.String())
	for _, d := range b.Strategies() {
		require.Contains(t, page, d.Meaning)
		for _, p := range d.Parameters {
			require.Contains(t, page, p.Meaning)
		}
	}
	for _, p := range dp.Parameters() {
		require.Contains(t, page, `name="dp.`+p.Name+`"`)
		require.Contains(t, page, p.Meaning)
	}
	for _, name := range []string{"num_shares", "reconstruction_threshold", "max_weight", "clipping_range", "quantization_range",
		"modulus_range", "timeout"} {
		require.Contains(t, page, `name="secagg.`+name+`"`)
	}
	require.Contains(t, page, `<option value="own">own</option>`)
	for _, name := range []string{"norm_clip", "norm_taper"} {
		require.Regexp(t, `name="bounds.`+name+`"[^>]*><option value=""[^>]*>as the server has it</option>`, page)
	}
	require.Regexp(t, `name="conf.FedAdam.beta_1" type="number" step="any" value="" min="0" max="1" placeholder="0.9"`, page)
}

func TestNewHandler_startsTheJobThatTheRESTInterfaceWould(t *testing.T) {
	b := jobstest.NewBoard()
	h := boardPages(b)
	w := send(h, "/new", filled("conf.FedAdam.eta", "0.05", "conf.min_evaluate_clients", "2", "conf.accept_failures", "false",
		"bounds.norm_factor", "5", "timeout", "60", "client.learning_rate", "0.1", "client.further", "optimizer: adam\nshuffle: true",
		"targets", "accuracy: 0.95"))
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body.String())
	require.Equal(t, "live/new", w.Header().Get("Location"))
	want, err := jobconfig.Parse([]byte(`{"strategy": "FedAdam", "model_name": "tumours", "model_version": "1",
		"server_conf": {"num_rounds": 20, "round_timeout": 60}, "configuration_id": 7, "privacy-mechanisms": {},
		"strategy_conf": {"eta": 0.05, "accept_failures": false, "norm_factor": 5,
			"min_fit_clients": 3, "min_available_clients": 3, "min_evaluate_clients": 2},
		"client_conf": [{"epochs": 2, "learning_rate": 0.1, "optimizer": "adam", "shuffle": true}],
		"stopping_flag": true, "stopping_target": {"accuracy": 0.95}}`))
	require.NoError(t, err)
	require.Equal(t, want, b.Started["new"])

	w = send(h, "/new", filled("id", "", "strategy", "other", "strategyName", "gentle", "further", "speed: 3",
		"dp", "1", "dp.noise_multiplier", "0.2", "homomorphic", "1",
		"homomorphic.coeff_mod_bit_sizes", "60, 40 40", "homomorphic.poly_modulus_degree", "8192"))
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body.String())
	made := regexp.MustCompile(`^live/(job-[0-9]{8}-[0-9]{6})$`).FindStringSubmatch(w.Header().Get("Location"))
	require.NotNil(t, made, "an identifier that needs no escaping is made")
	got := b.Started[made[1]]
	require.Equal(t, "gentle", got.Strategy)
	require.EqualValues(t, 3, got.DPAdaptive["num_sampled_clients"], "the clients of a round, unless the form says another number")
	require.Equal(t, []int{60, 40, 40}, got.Homomorphic.CoeffModBitSizes)
	require.Contains(t, got.StrategyConf, "speed")
}

func TestNewHandler_startsAJobWithSecureAggregation(t *testing.T) {
	b := jobstest.NewBoard()
	h := boardPages(b)
	w := send(h, "/new", filled("app", "us/masked", "clients", "5", "secagg", "1", "secagg.num_shares", "0.6",
		"secagg.quantization_range", "1048576"))
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body.String())
	config := b.Started["new"]
	require.Equal(t, &secagg.Settings{NumShares: 0.6, QuantizationRange: 1 << 20}, config.SecAgg)

	b.Job(flcollect.Status{Job: "masked", Run: 1, State: report.Finished, Config: config})
	again := jobstest.Ask(h, "GET", "/new?from=masked", "").Body.String()
	require.Regexp(t, `id="secagg" name="secagg" value="true" checked`, again)
	require.Regexp(t, `name="secagg.num_shares" type="number" step="any" value="0.6"`, again)

	w = send(h, "/new", filled("app", "us/masked", "secagg", "1", "homomorphic", "1"))
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Regexp(t, `id="fault-secagg">Cannot be combined with homomorphic`, w.Body.String())
}

func TestNewHandler_showsFaultsAtTheirFields(t *testing.T) {
	b := jobstest.NewBoard()
	b.Job(flcollect.Status{Job: "there", Run: 1, State: report.Finished})
	h := boardPages(b)
	for at, changes := range map[string][]string{
		"id":                              {"id", "there"},
		"model_name":                      {"model_name", ""},
		"configuration_id":                {"configuration_id", "x"},
		"rounds":                          {"rounds", "0"},
		"timeout":                         {"timeout", "-1"},
		"clients":                         {"clients", "0"},
		"conf.FedAdam.beta_1":             {"conf.FedAdam.beta_1", "1.5"},
		"conf.fraction_fit":               {"conf.fraction_fit", "2"},
		"conf.min_fit_clients":            {"conf.min_fit_clients", "0"},
		"bounds.norm_factor":              {"bounds.norm_factor", "0"},
		"further":                         {"further", "absent: 1"},
		"async.buffer":                    {"async", "1", "async.buffer", "0"},
		"async.staleness":                 {"async", "1", "async.staleness", "old"},
		"client.epochs":                   {"client.epochs", ""},
		"client.batch_size":               {"client.batch_size", "many"},
		"targets":                         {"targets", "accuracy: high"},
		"dp.delta":                        {"dp", "1", "dp.noise_multiplier", "0.1", "dp.delta", "2"},
		"dp.noise_multiplier":             {"dp", "1", "dp.noise_multiplier", "1"},
		"dp.epsilon_budget":               {"dp", "1", "dp.noise_multiplier", "0.1", "dp.epsilon_budget", "1"},
		"homomorphic.poly_modulus_degree": {"homomorphic", "1", "homomorphic.poly_modulus_degree", "1000"},
		"homomorphic.coeff_mod_bit_sizes": {"homomorphic", "1", "homomorphic.coeff_mod_bit_sizes", "60, 1"},
		"secagg.num_shares":               {"app", "us/masked", "secagg", "1", "secagg.num_shares", "2"},
		"secagg.timeout":                  {"app", "us/masked", "secagg", "1", "secagg.timeout", "0"},
		"secagg.reconstruction_threshold": {"app", "us/masked", "secagg", "1", "secagg.reconstruction_threshold", "4"},
	} {
		w := send(h, "/new", filled(changes...))
		require.Equal(t, http.StatusUnprocessableEntity, w.Code, at)
		page := w.Body.String()
		require.Regexp(t, `class="fault" id="fault-`+regexp.QuoteMeta(at)+`">[A-Z0-9][^<]+\.<`, page, at)
		require.Contains(t, page, "The job is not started: 1 field needs another value.", at)
		require.Regexp(t, `(value="|">\n)`+regexp.QuoteMeta(changes[len(changes)-1])+`("|</textarea>)`, page, "%s: what was typed stays", at)
	}
	require.Empty(t, b.Started)
	require.Regexp(t, `id="fault-app">The value must name an app with secaggplus_mod`, send(h, "/new", filled("secagg", "1")).Body.String())
	w := send(h, "/new", filled("rounds", "0", "model_name", "", "conf.FedAdam.eta", "-1"))
	require.Contains(t, w.Body.String(), "The job is not started: 3 fields need another value.")
}

func TestNewHandler_worksWithoutScripts(t *testing.T) {
	h := boardPages(jobstest.NewBoard())
	page := send(h, "/new", filled("action", "strategy", "strategy", "avg")).Body.String()
	require.Contains(t, page, `data-strategy="FedAdam" hidden disabled>`)
	require.Contains(t, page, `data-strategy="avg">`)
	page = send(h, "/new", filled("action", "estimate", "clients", "100", "dp", "1", "dp.noise_multiplier", "2")).Body.String()
	require.Regexp(t, `<output id="estimate" for="rounds clients">Epsilon will be [0-9.]+ after 20 rounds, with delta 1e-05;`, page)
}

func TestNewHandler_saysWhatAJobCosts(t *testing.T) {
	h := boardPages(jobstest.NewBoard())
	estimate := func(changes ...string) (text string, faults map[string]string) {
		w := send(h, "/new/estimate", filled(changes...))
		require.Equal(t, http.StatusOK, w.Code)
		var answer struct {
			Text   string
			Faults map[string]string
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
		return answer.Text, answer.Faults
	}
	given := []string{"clients", "1000", "dp", "1", "dp.noise_multiplier", "3", "model_name", "", "client.epochs", ""}
	text, faults := estimate(given...)
	require.Empty(t, faults, "what the estimate does not need may be missing")
	want, err := dp.Forecast(strategy.Conf{"num_sampled_clients": 1000, "noise_multiplier": 3}, 20)
	require.NoError(t, err)
	require.Contains(t, text, fmt.Sprintf("Epsilon will be %.4g after 20 rounds", want.Epsilon))
	text, _ = estimate(append(given, "dp.epsilon_budget", fmt.Sprint(want.Epsilon/2))...)
	require.Regexp(t, `The budget ends the training after round [0-9]+\.`, text)
	_, faults = estimate(append(given, "dp.noise_multiplier", "-1")...)
	require.Contains(t, faults, "dp.noise_multiplier")
	text, _ = estimate()
	require.Contains(t, text, "Without differential privacy there is no bound")
}

// A form that has the configuration of a job, sent as it is, makes the same configuration.
func TestNewHandler_takesTheConfigurationOfAJob(t *testing.T) {
	for name, body := range map[string]string{
		"everything": `{"strategy": "FedAdam", "strategy_conf": {"eta": 0.5, "fraction_fit": 0.5, "min_fit_clients": 2, "norm_bound": 3},
			"model_name": "<m>", "model_version": "1", "server_conf": {"num_rounds": 5, "round_timeout": 2.5},
			"client_conf": [{"epochs": 1, "extra": "yes"}], "configuration_id": 10,
			"privacy-mechanisms": {}, "stopping_flag": true, "stopping_target": {"accuracy": 0.9}}`,
		"privacy": `{"strategy": "own", "strategy_conf": {"speed": 3}, "model_name": "m", "model_version": "1", "server_conf": {},
			"client_conf": [{"epochs": 1}], "configuration_id": 10, "privacy-mechanisms": {"dp-adaptive": {"num_sampled_clients": 100},
			"homomorphic": {"coeff_mod_bit_sizes": [60, 40, 40]}}}`,
	} {
		config, err := jobconfig.Parse([]byte(body))
		require.NoError(t, err)
		b := jobstest.NewBoard()
		b.Job(flcollect.Status{Job: "old", Run: 1, State: report.Finished, Config: config})
		h := boardPages(b)
		form := valuesOf(t, jobstest.Ask(h, "GET", "/new?from=old", "").Body.String())
		form.Set("id", "again")
		w := send(h, "/new", form)
		require.Equal(t, http.StatusSeeOther, w.Code, "%s: %s", name, w.Body.String())
		require.Equal(t, config, b.Started["again"], name)
	}
	h := boardPages(jobstest.NewBoard())
	require.Equal(t, http.StatusNotFound, jobstest.Ask(h, "GET", "/new?from=absent", "").Code)
}

// valuesOf returns what a browser would send of the form of a job as it is.
func valuesOf(t *testing.T, page string) url.Values {
	t.Helper()
	form := url.Values{"action": {"create"}}
	find := func(pattern string) [][]string { return regexp.MustCompile(pattern).FindAllStringSubmatch(page, -1) }
	for _, m := range find(`<input id="[^"]*" name="([^"]+)"(?: type="number" step="[^"]*")? value="([^"]*)"`) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	for _, m := range find(`<input type="checkbox" id="[^"]*" name="([^"]+)" value="true" checked`) {
		form.Set(m[1], "1")
	}
	for _, m := range find(`(?s)<textarea id="[^"]*" name="([^"]+)"[^>]*>\n(.*?)</textarea>`) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	for _, m := range find(`(?s)<select id="[^"]*" name="([^"]+)"(.*?)</select>`) {
		if chosen := regexp.MustCompile(`value="([^"]*)" selected`).FindStringSubmatch(m[2]); chosen != nil {
			form.Set(m[1], chosen[1])
		}
	}
	return form
}

func TestNewHandler_makesAnAsynchronousJob(t *testing.T) {
	b := jobstest.NewBoard()
	h := boardPages(b)
	w := send(h, "/new", filled("async", "1", "async.buffer", "3", "async.staleness", "0"))
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body.String())
	config, none := b.Started["new"], 0.0
	require.Equal(t, &jobconfig.Async{Buffer: 3, Staleness: &none}, config.Async)

	b.Job(flcollect.Status{Job: "new", Run: 1, State: report.Finished, Config: config})
	page := jobstest.Ask(h, "GET", "/new?from=new", "").Body.String()
	require.Contains(t, page, `id="async" name="async" value="true" checked`)
	require.Contains(t, page, `name="async.buffer" type="number" step="1" value="3" min="1" max="10000" placeholder="min_fit_clients"`)
	require.Contains(t, page, `name="async.staleness" type="number" step="any" value="0"`)

	w = send(h, "/new", filled("id", "private", "async", "1", "dp", "1", "dp.noise_multiplier", "0.1"))
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Regexp(t, `class="fault" id="fault-async">The value has no meaning with dp-adaptive[^<]+\.<`, w.Body.String())
	w = send(h, "/new", filled("id", "rounds", "async.buffer", "3"))
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.Nil(t, b.Started["rounds"].Async, "the box is not checked")
}
