package flcollect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
)

// reported is a board with a job whose last round has a report.
func reported(clients int) *board {
	b := newBoard()
	b.job(flcollect.Status{Job: "a", Run: 3, State: flcollect.Training, Config: flcollect.JobConfig{Rounds: 5}})
	b.round("a", 2)
	norm, bound := 20.0, 10.0
	report := flcollect.RoundReport{Job: "a", Run: 3, Round: 2, Aggregated: true, Counts: flcollect.Counts{Kept: clients - 1, Clipped: 1}}
	for i := range clients {
		report.Clients = append(report.Clients, flcollect.ClientReport{
			Client: fmt.Sprintf("name:%05d", i), Session: "s", Examples: 10, Outcome: flcollect.Kept, Norm: &norm,
		})
	}
	report.Clients[0] = flcollect.ClientReport{
		Client: "name:<b>", Session: "ipv4:1.2.3.4:5", Examples: 12, Outcome: flcollect.Clipped, Norm: &norm, Bound: &bound,
		Reason: "its norm is 20", Reputation: &flcollect.Reputation{Score: 1.25, Until: 4},
	}
	b.reports["a"] = report
	return b
}

func TestNewHandler_pagesAReport(t *testing.T) {
	h := flcollect.HandlerOf(reported(1500), nil)
	seen, after, pages := map[string]bool{}, 0, 0
	for {
		w := ask(h, "GET", fmt.Sprintf("/job/rounds/a/2/report?limit=700&after=%d", after), "")
		require.Equal(t, http.StatusOK, w.Code)
		var page struct {
			flcollect.RoundReport
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
	require.Contains(t, ask(h, "GET", "/job/rounds/a/2/report?after=9999", "").Body.String(), `"clients":[]`)
	require.Len(t, strings.Split(ask(h, "GET", "/job/rounds/a/2/report", "").Body.String(), `"client":`), 101)
}

func TestNewHandler_answers404ForAMissingReport(t *testing.T) {
	h := flcollect.HandlerOf(reported(2), nil)
	for path, status := range map[string]int{
		"/job/rounds/a/1/report": 404, "/job/rounds/b/2/report": 404, "/job/rounds/a/0/report": 422, "/job/rounds/a/x/report": 422,
		"/job/rounds/a/2/report?limit=1001": 422, "/job/audit/b": 404, "/job/audit/a?after=-1": 422,
	} {
		require.Equal(t, status, ask(h, "GET", path, "").Code, path)
	}
}

func TestNewHandler_servesTheAuditLogLineByLine(t *testing.T) {
	b := reported(2)
	b.lines = []string{`{"line":1}`, `{"line":2}`}
	h := flcollect.HandlerOf(b, nil)
	w := ask(h, "GET", "/job/audit/a", "")
	require.Equal(t, "application/x-ndjson", w.Header().Get("Content-Type"))
	require.Equal(t, "{\"line\":1}\n{\"line\":2}\n", w.Body.String())
	require.Equal(t, "{\"line\":2}\n", ask(h, "GET", "/job/audit/a?after=1", "").Body.String())
	require.Empty(t, ask(h, "GET", "/job/audit/a?after=2", "").Body.String())
}

func TestNewHandler_cutsTheConnectionOfAPartialAuditLog(t *testing.T) {
	b := reported(2)
	h := flcollect.HandlerOf(b, nil)
	b.lines = []string{`{"line":1}`}
	failing := &failsLate{board: b}
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { ask(flcollect.HandlerOf(failing, nil), "GET", "/job/audit/a", "") })
	b.lines = nil
	require.Equal(t, http.StatusInternalServerError, ask(flcollect.HandlerOf(failing, nil), "GET", "/job/audit/a", "").Code)
	require.Equal(t, http.StatusOK, ask(h, "GET", "/job/audit/a", "").Code)
}

func TestNewHandler_showsTheLastReportOnThePageOfAJob(t *testing.T) {
	b := reported(150)
	h := flcollect.HandlerOf(b, nil)
	page := ask(h, "GET", "/live/a", "").Body.String()
	require.Contains(t, page, "name:&lt;b&gt;")
	require.Contains(t, page, "its norm is 20")
	require.Contains(t, page, "1.25, suspended to round 4")
	require.Contains(t, page, "Updates of round 2: 149 kept, 1 clipped, 0 refused, 0 failed")
	require.Contains(t, page, `href="../job/rounds/a/2/report?after=100"`)
	require.NotContains(t, page, "name:00100")
	b.err = errors.New("secret")
	require.Equal(t, http.StatusInternalServerError, ask(h, "GET", "/live/a", "").Code)
}
