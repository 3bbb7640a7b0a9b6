package rest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/rest"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

func TestNewHandler_interruptsStoppedJobs(t *testing.T) {
	jobs, end := jobstest.Run(t, flcollect.Config{})
	h := rest.NewHandler(jobs, nil)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	require.Equal(t, "200", jobstest.Ask(h, "POST", "/job/config/a", string(jobstest.Body(t, nil))).Body.String())
	l := listen(t, nil, server.URL+"/job/events/a", "")
	require.Equal(t, "200", jobstest.Ask(h, "POST", "/job/stop", `{"status":"STOP"}`).Body.String())
	require.Contains(t, jobstest.Ask(h, "GET", "/job/status/a", "").Body.String(), `"status":"INTERRUPTED"`)
	var last event
	for e := l.next(); e.name != ""; e = l.next() {
		last = e
	}
	require.Contains(t, last.data, `"status":"INTERRUPTED"`)
	require.Equal(t, "200", jobstest.Ask(h, "GET", "/job/stop", "").Body.String(), "nothing to stop")
	end()
	answer := jobstest.Ask(h, "POST", "/job/stop", "")
	require.Equal(t, http.StatusServiceUnavailable, answer.Code)
	require.Equal(t, "500", answer.Body.String())
	require.Equal(t, http.StatusServiceUnavailable, jobstest.Ask(h, "GET", "/readyz", "").Code)
}

func TestNewHandler_refusesInvalidIDsAndStrategies(t *testing.T) {
	jobs, _ := jobstest.Run(t, flcollect.Config{})
	h := rest.NewHandler(jobs, nil)
	for _, path := range []string{"/job/config/a%00", "/job/config/" + strings.Repeat("a", 257), "/jobs?after=%00",
		"/jobs?prefix=a%ff"} {
		method := "GET"
		if strings.HasPrefix(path, "/job/config/") {
			method = "POST"
		}
		w := jobstest.Ask(h, method, path, string(jobstest.Body(t, nil)))
		require.Equal(t, http.StatusUnprocessableEntity, w.Code, path)
		require.Contains(t, w.Body.String(), `"type":"value_error"`)
	}
	w := jobstest.Ask(h, "POST", "/job/config/a", string(jobstest.Body(t, map[string]string{"strategy": `"mine"`})))
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), `"loc":["body","strategy"]`)
	require.Equal(t, `{"status":"INACTIVE","round":0,"id":-1}`, jobstest.Ask(h, "GET", "/job/status/a%00", "").Body.String())
	require.Equal(t, http.StatusNotFound, jobstest.Ask(h, "GET", "/job/result/a%00", "").Code)
	require.Equal(t, http.StatusNotFound, jobstest.Ask(h, "GET", "/job/rounds/a%00", "").Code)
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
		jobs, _ := jobstest.Run(t, flcollect.Config{Repository: brokenStrategies{err: err}})
		answer := jobstest.Ask(rest.NewHandler(jobs, nil), "POST", "/job/config/a",
			string(jobstest.Body(t, map[string]string{"strategy": `"mine"`})))
		require.Equal(t, status, answer.Code, answer.Body)
	}
}

// A user may point a SuperNode at this port as well.
func TestNewHandler_refusesSuperNodes(t *testing.T) {
	answer := jobstest.Ask(rest.HandlerFor(jobstest.NewBoard(), nil), "POST", "/v1/fleet/register-node", "")
	require.Equal(t, http.StatusNotImplemented, answer.Code)
	require.Contains(t, answer.Body.String(), "This port is not for SuperNodes")
}

func TestNewHandler_namesTheParameterOfAMechanism(t *testing.T) {
	for field, err := range map[string]error{
		"dp-adaptive": &strategy.FieldError{Strategy: "dp-adaptive", Field: "delta", Reason: "why"},
		"homomorphic": &ckks.FieldError{Field: "delta", Reason: "why"},
	} {
		b := jobstest.NewBoard()
		b.Err = err
		w := jobstest.Ask(rest.HandlerFor(b, nil), "POST", "/job/config/a", string(jobstest.Body(t, nil)))
		require.Equal(t, http.StatusUnprocessableEntity, w.Code)
		require.JSONEq(t,
			`{"detail":[{"loc":["body","privacy-mechanisms","`+field+`","delta"],"msg":"why","type":"value_error"}]}`, w.Body.String())
	}
}
