package rest_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/rest"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/storage"
)

func TestNewHandler_agreesWithTheOpenAPIDocument(t *testing.T) {
	routes, document := rest.RoutesAndDocument()
	require.NoError(t, httpapi.CheckRoutes(routes, document))
	parsed, err := openapi3.NewLoader().LoadFromData(document)
	require.NoError(t, err)
	require.NoError(t, parsed.Validate(t.Context()))
}

func TestNewHandler_acceptsTheExampleOfTheDocument(t *testing.T) {
	_, document := rest.RoutesAndDocument()
	parsed, err := openapi3.NewLoader().LoadFromData(document)
	require.NoError(t, err)
	example := parsed.Paths.Find("/job/config/{id}").Post.RequestBody.Value.Content.Get("application/json").Example
	b := jobstest.NewBoard()
	h := rest.HandlerFor(b, nil)
	w := jobstest.Ask(h, "POST", "/job/config/7", string(mustJSON(t, example)))
	require.Equal(t, "200", w.Body.String())
	require.Equal(t, 5, b.Started["7"].Rounds)
}

func TestNewHandler_answersAConfigurationWithExactly200(t *testing.T) {
	for _, path := range []string{"/job/config/a", "/job/config/a/"} {
		for _, contentType := range []string{"application/json", "application/json; charset=utf-8", "", "text/plain"} {
			b := jobstest.NewBoard()
			w := jobstest.Ask(rest.HandlerFor(b, nil), "POST", path, string(jobstest.Body(t, nil)), "Content-Type", contentType)
			require.Equal(t, http.StatusOK, w.Code)
			require.Equal(t, "200", w.Body.String())
			require.Equal(t, "application/json", w.Header().Get("Content-Type"))
			require.Equal(t, "keras", b.Started["a"].ModelName)
		}
	}
	b := jobstest.NewBoard()
	answer := jobstest.Ask(rest.HandlerFor(b, nil), "POST", "/job/config/a%2Fb%20c", string(jobstest.Body(t, nil)))
	require.Equal(t, "200", answer.Body.String())
	require.Contains(t, b.Started, "a/b c")
}

func TestNewHandler_startsNothingForAnInvalidConfiguration(t *testing.T) {
	b := jobstest.NewBoard()
	h := rest.HandlerFor(b, nil)
	w := jobstest.Ask(h, "POST", "/job/config/a", string(jobstest.Body(t, map[string]string{
		"configuration_id": ``, "server_conf": `{"num_rounds":"x"}`,
	})))
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.JSONEq(t, `{"detail":[
		{"loc":["body","server_conf","num_rounds"],"msg":"value is not a valid integer","type":"type_error.integer"},
		{"loc":["body","configuration_id"],"msg":"field required","type":"value_error.missing"}
	]}`, w.Body.String())
	w = jobstest.Ask(h, "POST", "/job/config/a", `{"a":`)
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), `"loc":["body",5]`)
	w = jobstest.Ask(h, "POST", "/job/config/"+strings.Repeat("a", 257), string(jobstest.Body(t, nil)))
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), `"loc":["path","id"]`)
	w = jobstest.Ask(h, "POST", "/job/config/a", strings.Repeat(" ", jobconfig.MaxSize)+string(jobstest.Body(t, nil)))
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
	require.Contains(t, w.Body.String(), `{"detail":"The request body is larger than`)
	require.Empty(t, b.Started)
}

func TestNewHandler_reportsErrorsOfStart(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		answer string
	}{
		{flcollect.ErrActive, http.StatusConflict, `{"detail":"The job is being trained with another configuration."}`},
		{&strategy.FieldError{Strategy: "x", Field: "eta", Reason: "is odd"}, 422,
			`{"detail":[{"loc":["body","strategy_conf","eta"],"msg":"is odd","type":"value_error"}]}`},
		{&strategy.FieldError{Strategy: "x", Field: "strategy", Reason: "is odd"}, 422,
			`{"detail":[{"loc":["body","strategy"],"msg":"is odd","type":"value_error"}]}`},
		{fmt.Errorf("ask: %w", flcollect.ErrNoStrategy), 422,
			`{"detail":[{"loc":["body","strategy"],"msg":"there is no strategy of this name","type":"value_error"}]}`},
		{jobconfig.ErrInvalid, 422, `{"detail":[{"loc":["body"],"msg":"flcollect: invalid","type":"value_error"}]}`},
		{errors.New("secret"), http.StatusInternalServerError, `500`},
		{flcollect.ErrNotRunning, http.StatusServiceUnavailable, `500`},
		{flcollect.ErrUndelivered, http.StatusServiceUnavailable, `500`},
		{storage.ErrUnavailable, http.StatusServiceUnavailable, `500`},
	} {
		b := jobstest.NewBoard()
		b.Err = c.err
		w := jobstest.Ask(rest.HandlerFor(b, nil), "POST", "/job/config/a/", string(jobstest.Body(t, nil)))
		require.Equal(t, c.status, w.Code, c.err)
		require.Equal(t, c.answer, strings.TrimSpace(w.Body.String()))
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	}
}

func TestNewHandler_stopsJobsByEitherMethod(t *testing.T) {
	b := jobstest.NewBoard()
	h := rest.HandlerFor(b, nil)
	for i, method := range []string{"GET", "POST"} {
		w := jobstest.Ask(h, method, "/job/stop", `{"status":"STOP","message":"Not enough Local Operations"}`)
		require.Equal(t, "200", w.Body.String())
		require.Equal(t, i+1, b.Stops)
	}
	b.Err = errors.New("secret")
	w := jobstest.Ask(h, "POST", "/job/stop", "")
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Equal(t, "500", w.Body.String())
}

func TestNewHandler_refusesStartAndStopOfOtherOrigins(t *testing.T) {
	b := jobstest.NewBoard()
	h := rest.HandlerFor(b, nil)
	for _, c := range [][2]string{{"POST", "/job/config/a"}, {"GET", "/job/stop"}, {"POST", "/job/stop"}} {
		for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://elsewhere.example"}} {
			w := jobstest.Ask(h, c[0], c[1], string(jobstest.Body(t, nil)), headers...)
			require.Equal(t, http.StatusForbidden, w.Code)
			require.Contains(t, w.Body.String(), `{"detail":"A page of another origin`)
		}
		require.Equal(t, "200", jobstest.Ask(h, c[0], c[1], string(jobstest.Body(t, nil)), "Sec-Fetch-Site", "same-origin").Body.String())
	}
	require.Equal(t, 2, b.Stops)
}

func TestNewHandler_showsAnUnknownJobAsInactive(t *testing.T) {
	w := jobstest.Ask(rest.HandlerFor(jobstest.NewBoard(), nil), "GET", "/job/status/unknown", "")
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, `{"status":"INACTIVE","round":0,"id":-1}`, w.Body.String())
}

func TestNewHandler_keepsTheFirstMembersOfAStatus(t *testing.T) {
	b := jobstest.NewBoard()
	h := rest.HandlerFor(b, nil)
	b.Job(flcollect.Status{Job: "a", Run: 3, State: report.Waiting, Round: -1, Config: jobconfig.Config{Rounds: 5}})
	require.Equal(t, `{"status":"WAITING","round":-1,"id":3,"job":"a","rounds":5}`, jobstest.Ask(h, "GET", "/job/status/a/", "").Body.String())
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b.Job(flcollect.Status{
		Job: "a", Run: 3, State: report.Interrupted, Config: jobconfig.Config{Rounds: 5, ModelName: "m"}, Clients: 2,
		Ended: at, Error: "why",
		Quarantined: []report.Quarantine{{Round: 1, Client: "c", Reason: "NaN"}},
	})
	b.Round("a", 2)
	require.JSONEq(t, `{"status":"INTERRUPTED","round":2,"id":3,"job":"a","rounds":5,"clients":2,
		"model_name":"m","ended":"2026-01-02T03:04:05Z",
		"error":"why","quarantined":[{"round":1,"client":"c","reason":"NaN"}],"loss":0.5}`,
		jobstest.Ask(h, "GET", "/job/status/a", "").Body.String())
	b.Err = storage.ErrUnavailable
	w := jobstest.Ask(h, "GET", "/job/status/a", "")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.JSONEq(t, `{"detail":"The storage cannot be reached. Please try again."}`, w.Body.String())
}

func TestNewHandler_pagesRoundsAndJobs(t *testing.T) {
	b := jobstest.NewBoard()
	h := rest.HandlerFor(b, nil)
	require.Equal(t, `{"jobs":[]}`, jobstest.Ask(h, "GET", "/jobs", "").Body.String())
	for _, id := range []string{"a", "b", "c"} {
		b.Job(flcollect.Status{Job: id, Run: 1, State: report.Training})
	}
	require.Contains(t, jobstest.Ask(h, "GET", "/job/rounds/a", "").Body.String(), `"rounds":[]`)
	b.Round("a", 3)
	first := jobstest.Ask(h, "GET", "/job/rounds/a?limit=2", "").Body.String()
	require.Contains(t, first, `"round":1`)
	require.Contains(t, first, `"next":2}`)
	second := jobstest.Ask(h, "GET", "/job/rounds/a?limit=2&after=2", "").Body.String()
	require.Contains(t, second, `"round":3`)
	require.NotContains(t, second, `"next"`)
	require.Contains(t, jobstest.Ask(h, "GET", "/jobs?limit=2", "").Body.String(), `"next":"b"}`)
	require.NotContains(t, jobstest.Ask(h, "GET", "/jobs?limit=2&after=b", "").Body.String(), `"next"`)

	require.Equal(t, http.StatusNotFound, jobstest.Ask(h, "GET", "/job/rounds/unknown", "").Code)
	for _, path := range []string{"/job/rounds/a?limit=0", "/job/rounds/a?after=x", "/jobs?limit=1001", "/job/events/a?after=-1"} {
		w := jobstest.Ask(h, "GET", path, "")
		require.Equal(t, http.StatusUnprocessableEntity, w.Code, path)
		require.Contains(t, w.Body.String(), `"loc":["query",`)
	}
}

func TestNewHandler_answersOtherPathsAndMethodsInTheSameForm(t *testing.T) {
	h := rest.HandlerFor(jobstest.NewBoard(), nil)
	w := jobstest.Ask(h, "GET", "/nowhere", "")
	require.Equal(t, http.StatusNotFound, w.Code)
	require.JSONEq(t, `{"detail":"Not Found"}`, w.Body.String())
	w = jobstest.Ask(h, "GET", "/job/config/a", "")
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
	require.JSONEq(t, `{"detail":"Method Not Allowed"}`, w.Body.String())
}

func TestNewHandler_servesTheModelAsNumPySavesIt(t *testing.T) {
	b := jobstest.NewBoard()
	h := rest.HandlerFor(b, nil)
	b.Model = flcollect.Result{
		ModelName: "ker as", ModelVersion: `"1`, TrainingID: "é", Rounds: 4,
		Weights: strategy.Model{tensor.FromFloat32s([]float32{1, 2, 3, 4}, 2, 2), tensor.FromFloat32s([]float32{5})},
	}
	w := jobstest.Ask(h, "GET", "/job/result/a", "")
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, `attachment; filename=ker_as-_1-_-4.npz`, w.Header().Get("Content-Disposition"))
	arrays, err := tensor.ReadNPZ(bytes.NewReader(w.Body.Bytes()), int64(w.Body.Len()), 1<<20)
	require.NoError(t, err)
	require.Len(t, arrays, 2)
	require.Equal(t, "arr_1", arrays[1].Name)
	require.Equal(t, b.Model.Weights[0], arrays[0].Tensor)
	b.Err = flcollect.ErrNoResult
	w = jobstest.Ask(h, "GET", "/job/result/a", "")
	require.Equal(t, http.StatusNotFound, w.Code)
	require.JSONEq(t, `{"detail":"The job has no model."}`, w.Body.String())
}

func TestNewHandler_describesTheService(t *testing.T) {
	b := jobstest.NewBoard()
	b.Numbers = flcollect.Totals{
		Clients: 7, Jobs: map[report.State]int{report.Training: 2, report.Finished: 0}, Rounds: 5, Sent: 100, Received: 200,
		Quarantined: 3, Refused: 2, Epsilon: 2.5,
	}
	for _, seconds := range []float64{0.005, 0.1, 2, 2.5, 5000} {
		b.Numbers.Durations.Add(seconds)
	}
	h := rest.HandlerFor(b, &rest.HandlerOptions{Version: "9"})
	require.JSONEq(t, `{"name":"flcollector","version":"9"}`, jobstest.Ask(h, "GET", "/version", "").Body.String())
	require.Equal(t, http.StatusOK, jobstest.Ask(h, "GET", "/healthz", "").Code)
	require.Equal(t, http.StatusOK, jobstest.Ask(h, "GET", "/readyz", "").Code)
	require.Equal(t, http.StatusTemporaryRedirect, jobstest.Ask(h, "GET", "/docs", "").Code)
	require.Contains(t, jobstest.Ask(h, "GET", "/docs/", "").Body.String(), "Training collector")
	metrics := jobstest.Ask(h, "GET", "/metrics", "").Body.String()
	for _, line := range []string{
		`flcollector_jobs{state="TRAINING"} 2`, `flcollector_jobs{state="FINISHED"} 0`, `flcollector_clients 7`,
		`flcollector_rounds_total 5`, `flcollector_round_duration_seconds_sum 5004.605`, `flcollector_round_duration_seconds_count 5`,
		`flcollector_round_duration_seconds_bucket{le="0.1"} 2`, `flcollector_round_duration_seconds_bucket{le="1"} 2`,
		`flcollector_round_duration_seconds_bucket{le="3"} 4`, `flcollector_round_duration_seconds_bucket{le="1000"} 4`,
		`flcollector_round_duration_seconds_bucket{le="+Inf"} 5`,
		`flcollector_sent_bytes_total 100`, `flcollector_received_bytes_total 200`, `flcollector_quarantined_updates_total 3`,
		`flcollector_refused_updates_total 2`, `flcollector_epsilon 2.5`,
	} {
		require.Contains(t, metrics, line+"\n")
	}
	b.Err = flcollect.ErrNotRunning
	require.Equal(t, http.StatusServiceUnavailable, jobstest.Ask(h, "GET", "/readyz", "").Code)
}
