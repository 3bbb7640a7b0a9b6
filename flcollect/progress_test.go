package flcollect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/report"
)

// measuring is a client whose evaluations last until the test says so.
func measuring() (trainer, chan<- struct{}) {
	gate := make(chan struct{})
	return trainer{step: 1, examples: 1, evaluate: func(ctx context.Context, _ flower.EvaluateIns, _ *flower.EvaluateRes) error {
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}, gate
}

// reached is what the REST interface says of a job, as the original does.
func reached(t *testing.T, h http.Handler, id string) string {
	t.Helper()
	var status struct {
		Status string
		Round  int
	}
	require.NoError(t, json.Unmarshal(jobstest.Ask(h, "GET", "/job/status/"+id, "").Body.Bytes(), &status))
	return fmt.Sprint(status.Status, "/", status.Round)
}

func TestStatus_Evaluating_isSetWhenTheFitIsAggregated(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	h, _ := serveWorld(t, w)
	require.NoError(t, w.Start(t.Context(), "job", config(2, 1)))
	client, gate := measuring()
	w.join(t, client)
	for round := 1; round <= 2; round++ {
		status := w.until(t, "job", "fitted", func(s flcollect.Status) bool { return s.Evaluating && s.Round == round-1 })
		require.Equal(t, report.Training, status.State)
		require.Equal(t, fmt.Sprint("TRAINING/", round), reached(t, h, "job"))
		require.Contains(t, jobstest.Ask(h, "GET", "/jobs", "").Body.String(), fmt.Sprintf(`"status":"TRAINING","round":%d`, round))
		require.NotContains(t, jobstest.Ask(h, "GET", "/job/rounds/job", "").Body.String(), fmt.Sprintf(`"round":%d,`, round))
		page := jobstest.Ask(h, "GET", "/live/job", "")
		require.Equal(t, http.StatusOK, page.Code)
		require.Contains(t, page.Body.String(), fmt.Sprintf("Round %d of 2", round))
		gate <- struct{}{}
	}
	w.untilState(t, "job", report.Finished)
	require.Equal(t, "FINISHED/2", reached(t, h, "job"))
}

func TestStatus_Round_isThatOfTheModelAfterARestart(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		w := newWorldOn(t, lan, flcollect.Config{Initial: zeros, Park: time.Hour})
		require.NoError(t, w.Start(t.Context(), "job", config(3, 1)))
		client, gate := measuring()
		w.join(t, client)
		gate <- struct{}{}
		w.until(t, "job", "fitted", func(s flcollect.Status) bool { return s.Evaluating && s.Round == 1 })

		again := w.restart(t, flcollect.Config{Initial: zeros})
		require.Eventually(t, func() bool { return again.Ready() == nil }, patience, time.Millisecond)
		h := again.web()
		require.Equal(t, "TRAINING/1", reached(t, h, "job"), "round 2 is conducted again")
		client, _ = measuring()
		again.join(t, client)
		again.until(t, "job", "fitted", func(s flcollect.Status) bool { return s.Evaluating && s.Round == 1 })
		require.NoError(t, again.Stop(t.Context()))
		require.Equal(t, "INTERRUPTED/1", reached(t, h, "job"))
	})
}

func TestServer_Changed_streamsTheStatusAfterTheFit(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	h, _ := serveWorld(t, w)
	require.NoError(t, w.Start(t.Context(), "job", config(1, 1)))
	client, gate := measuring()
	w.join(t, client)
	w.until(t, "job", "fitted", func(s flcollect.Status) bool { return s.Evaluating })
	answered := make(chan string, 1)
	go func() { answered <- jobstest.Ask(h, "GET", "/job/events/job", "").Body.String() }()
	close(gate)
	require.Contains(t, <-answered, "event: round\nid: 1.1\n", "a round that was shown early has its event all the same")
	require.Equal(t, "FINISHED/1", reached(t, h, "job"))
}
