package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/rest"
)

func TestNewHandler_pagesAReport(t *testing.T) {
	h := rest.HandlerFor(jobstest.Reported(1500), nil)
	seen, after, pages := map[string]bool{}, 0, 0
	for {
		w := jobstest.Ask(h, "GET", fmt.Sprintf("/job/rounds/a/2/report?limit=700&after=%d", after), "")
		require.Equal(t, http.StatusOK, w.Code)
		var page struct {
			report.RoundReport
			Next int `json:"next"`
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &page))
		for _, c := range page.Clients {
			seen[c.Client] = true
		}
		pages++
		if after = page.Next; after == 0 {
			break
		}
	}
	require.Len(t, seen, 1500)
	require.Equal(t, 3, pages)
	require.Contains(t, jobstest.Ask(h, "GET", "/job/rounds/a/2/report?after=9999", "").Body.String(), `"clients":[]`)
	require.Len(t, strings.Split(jobstest.Ask(h, "GET", "/job/rounds/a/2/report", "").Body.String(), `"client":`), 101)
}

func TestNewHandler_answers404ForAMissingReport(t *testing.T) {
	h := rest.HandlerFor(jobstest.Reported(2), nil)
	for path, status := range map[string]int{
		"/job/rounds/a/1/report": 404, "/job/rounds/b/2/report": 404, "/job/rounds/a/0/report": 422, "/job/rounds/a/x/report": 422,
		"/job/rounds/a/2/report?limit=1001": 422, "/job/audit/b": 404, "/job/audit/a?after=-1": 422,
	} {
		require.Equal(t, status, jobstest.Ask(h, "GET", path, "").Code, path)
	}
}

func TestNewHandler_servesTheAuditLogLineByLine(t *testing.T) {
	b := jobstest.Reported(2)
	b.Lines = []string{`{"line":1}`, `{"line":2}`}
	h := rest.HandlerFor(b, nil)
	w := jobstest.Ask(h, "GET", "/job/audit/a", "")
	require.Equal(t, "application/x-ndjson", w.Header().Get("Content-Type"))
	require.Equal(t, "{\"line\":1}\n{\"line\":2}\n", w.Body.String())
	require.Equal(t, "{\"line\":2}\n", jobstest.Ask(h, "GET", "/job/audit/a?after=1", "").Body.String())
	require.Empty(t, jobstest.Ask(h, "GET", "/job/audit/a?after=2", "").Body.String())
}

func TestNewHandler_cutsTheConnectionOfAPartialAuditLog(t *testing.T) {
	b := jobstest.Reported(2)
	h := rest.HandlerFor(b, nil)
	b.Lines = []string{`{"line":1}`}
	failing := &jobstest.FailsLate{Board: b}
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { jobstest.Ask(rest.HandlerFor(failing, nil), "GET", "/job/audit/a", "") })
	b.Lines = nil
	require.Equal(t, http.StatusInternalServerError, jobstest.Ask(rest.HandlerFor(failing, nil), "GET", "/job/audit/a", "").Code)
	require.Equal(t, http.StatusOK, jobstest.Ask(h, "GET", "/job/audit/a", "").Code)
}
