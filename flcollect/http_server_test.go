package flcollect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

func serveWorld(t *testing.T, w *world) (http.Handler, string) {
	t.Helper()
	require.Eventually(t, func() bool { return w.Ready() == nil }, patience, 1e6)
	h := flcollect.NewHandler(w.Server, nil)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return h, server.URL
}

func TestNewHandler_trainsAndFollowsAJob(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	h, address := serveWorld(t, w)
	conf := string(body(t, map[string]string{
		"server_conf":   `{"num_rounds":"3"}`,
		"strategy_conf": `{"min_fit_clients":2,"min_available_clients":"2","min_evaluate_clients":2}`,
	}))
	require.Equal(t, "200", ask(h, "POST", "/job/config/a/", conf).Body.String())
	require.Equal(t, "200", ask(h, "POST", "/job/config/a", conf).Body.String(), "the same again")
	other := ask(h, "POST", "/job/config/a", string(body(t, nil)))
	require.Equal(t, http.StatusConflict, other.Code)
	require.Contains(t, ask(h, "GET", "/job/status/a", "").Body.String(), `"status":"WAITING"`)

	l := listen(t, address+"/job/events/a", "")
	w.join(t, trainer{step: 1, examples: 1})
	w.join(t, trainer{step: 3, examples: 1})
	var rounds []string
	var last event
	for e := l.next(); e.name != ""; e = l.next() {
		if last = e; e.name == "round" {
			rounds = append(rounds, e.id)
		}
	}
	run, _, _ := strings.Cut(last.id, ".")
	require.Equal(t, []string{run + ".1", run + ".2", run + ".3"}, rounds)
	require.Equal(t, run+".3.end", last.id)
	require.Contains(t, last.data, `{"status":"FINISHED","round":3,"id":`+run+`,"job":"a","rounds":3`)

	status := ask(h, "GET", "/job/status/a", "").Body.String()
	require.Contains(t, status, `"loss":6,`)
	require.Contains(t, status, `"metrics":{"accuracy":0.6`)
	require.Contains(t, ask(h, "GET", "/jobs", "").Body.String(), `"status":"FINISHED"`)
	require.Contains(t, ask(h, "GET", "/job/rounds/a?after=2", "").Body.String(), `{"round":3,`)
	model := ask(h, "GET", "/job/result/a", "").Body.Bytes()
	arrays, err := tensor.ReadNPZ(bytes.NewReader(model), int64(len(model)), 1<<20)
	require.NoError(t, err)
	require.Equal(t, []float64{6, 6, 6}, arrays[0].Tensor.Float64s())
	metrics := ask(h, "GET", "/metrics", "").Body.String()
	require.Contains(t, metrics, "flcollector_rounds_total 3\n")
	require.Contains(t, metrics, `flcollector_round_duration_seconds_bucket{le="1000"} 3`+"\n")
	require.Contains(t, metrics, `flcollector_jobs{state="FINISHED"} 1`+"\n")
	require.Contains(t, metrics, `flcollector_jobs_ended_total{state="FINISHED"} 1`+"\n")
	require.Contains(t, metrics, `flcollector_jobs_ended_total{state="INTERRUPTED"} 0`+"\n")
}

func TestNewHandler_interruptsStoppedJobs(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	h, address := serveWorld(t, w)
	require.Equal(t, "200", ask(h, "POST", "/job/config/a", string(body(t, nil))).Body.String())
	l := listen(t, address+"/job/events/a", "")
	require.Equal(t, "200", ask(h, "POST", "/job/stop", `{"status":"STOP"}`).Body.String())
	require.Contains(t, ask(h, "GET", "/job/status/a", "").Body.String(), `"status":"INTERRUPTED"`)
	var last event
	for e := l.next(); e.name != ""; e = l.next() {
		last = e
	}
	require.Contains(t, last.data, `"status":"INTERRUPTED"`)
	require.Equal(t, "200", ask(h, "GET", "/job/stop", "").Body.String(), "nothing to stop")
	w.end()
	answer := ask(h, "POST", "/job/stop", "")
	require.Equal(t, http.StatusServiceUnavailable, answer.Code)
	require.Equal(t, "500", answer.Body.String())
	require.Equal(t, http.StatusServiceUnavailable, ask(h, "GET", "/readyz", "").Code)
}

func TestNewHandler_refusesInvalidIDsAndStrategies(t *testing.T) {
	h, _ := serveWorld(t, newWorld(t, flcollect.Config{Initial: zeros}))
	for _, path := range []string{"/job/config/a%00", "/job/config/" + strings.Repeat("a", 257), "/jobs?after=%00",
		"/jobs?prefix=a%ff", "/?after=%00"} {
		method := "GET"
		if strings.HasPrefix(path, "/job/config/") {
			method = "POST"
		}
		w := ask(h, method, path, string(body(t, nil)))
		require.Equal(t, http.StatusUnprocessableEntity, w.Code, path)
		require.Contains(t, w.Body.String(), `"type":"value_error"`)
	}
	w := ask(h, "POST", "/job/config/a", string(body(t, map[string]string{"strategy": `"mine"`})))
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), `"loc":["body","strategy"]`)
	require.Equal(t, `{"status":"INACTIVE","round":0,"id":-1}`, ask(h, "GET", "/job/status/a%00", "").Body.String())
	require.Equal(t, http.StatusNotFound, ask(h, "GET", "/job/result/a%00", "").Code)
	require.Equal(t, http.StatusNotFound, ask(h, "GET", "/job/rounds/a%00", "").Code)
	require.Equal(t, http.StatusNotFound, ask(h, "GET", "/live/a%00", "").Code)
}

// brokenStrategies is a repository that gives no strategies out.
type brokenStrategies struct {
	flcollect.Repository
	err error
}

func (b brokenStrategies) Strategy(context.Context, string, strategy.Conf) (strategy.Strategy, error) {
	return nil, b.err
}

func TestNewHandler_answers503ForAFailingRepository(t *testing.T) {
	for status, err := range map[int]error{
		http.StatusServiceUnavailable:  errors.New("connection refused"),
		http.StatusUnprocessableEntity: fmt.Errorf("get strategy: %w", flcollect.ErrNoStrategy),
	} {
		w := newWorld(t, flcollect.Config{Repository: brokenStrategies{err: err}})
		h, _ := serveWorld(t, w)
		answer := ask(h, "POST", "/job/config/a", string(body(t, map[string]string{"strategy": `"mine"`})))
		require.Equal(t, status, answer.Code, answer.Body)
	}
}

// A user may point a SuperNode at this port as well.
func TestNewHandler_refusesSuperNodes(t *testing.T) {
	answer := ask(flcollect.HandlerOf(newBoard(), nil), "POST", "/v1/fleet/register-node", "")
	require.Equal(t, http.StatusNotImplemented, answer.Code)
	require.Contains(t, answer.Body.String(), "This port is not for SuperNodes")
}
