package flcollect_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/report"
)

// shelf is a repository that keeps each result under the id of its record.
type shelf struct {
	neighbours
	kept sync.Map // of first numbers of the models
	away chan struct{}
}

func (s *shelf) Store(_ context.Context, r flcollect.Result) error {
	select {
	case <-s.away:
		return errors.New("away")
	default:
	}
	s.kept.Store(r.RecordID(), r.Weights[0].Float64s()[0])
	return nil
}

func (s *shelf) numbers() map[string]float64 {
	numbers := map[string]float64{}
	s.kept.Range(func(id, number any) bool {
		numbers[id.(string)] = number.(float64)
		return true
	})
	return numbers
}

// runsOf is what GET /job/runs/{id} answers.
type runsOf struct {
	Runs []struct {
		Run    int64
		State  string
		Round  int
		Loss   *float64
		Result *flcollect.RunResult
	}
	Next int64
}

func askRuns(t *testing.T, h http.Handler, path string) (got runsOf) {
	t.Helper()
	w := jobstest.Ask(h, "GET", path, "")
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	return got
}

// trainRun trains a run of the job with a client that adds the step.
func trainRun(t *testing.T, w *world, step float64) {
	t.Helper()
	require.NoError(t, w.Start(t.Context(), "a/b", config(1, 1)))
	ended, _ := w.join(t, trainer{step: step, examples: 3})
	w.untilState(t, "a/b", report.Finished)
	require.NoError(t, <-ended)
}

func TestServer_Runs_haveRecordsAndResultsOfTheirOwn(t *testing.T) {
	s := &shelf{away: make(chan struct{})}
	w := newWorld(t, flcollect.Config{Initial: zeros, Repository: s})
	stored := func() {
		t.Helper()
		w.until(t, "a/b", "stored", func(s flcollect.Status) bool { return s.Stored })
	}
	trainRun(t, w, 1)
	stored()
	trainRun(t, w, 2)
	stored()
	trainRun(t, w, 2) // with equal figures
	stored()
	require.Equal(t, map[string]float64{"a/b": 1, "a/b-run-2": 2, "a/b-run-3": 2}, s.numbers())

	w = w.restart(t, flcollect.Config{Initial: zeros, Repository: s})
	h, _ := serveWorld(t, w)
	got := askRuns(t, h, "/job/runs/a%2Fb")
	require.Len(t, got.Runs, 3)
	for i, run := range got.Runs {
		require.EqualValues(t, 3-i, run.Run)
		require.Equal(t, "FINISHED", run.State)
		require.Equal(t, 1, run.Round)
		require.NotNil(t, run.Loss)
		require.Equal(t, "stored", run.Result.State)
		require.Contains(t, s.numbers(), run.Result.TrainingID)
	}
	require.Zero(t, got.Next)
	require.Equal(t, "a/b", got.Runs[2].Result.TrainingID)

	got = askRuns(t, h, "/job/runs/a%2Fb?limit=2")
	require.Len(t, got.Runs, 2)
	require.EqualValues(t, 2, got.Next)
	got = askRuns(t, h, "/job/runs/a%2Fb?before=2")
	require.Len(t, got.Runs, 1)
	require.EqualValues(t, 1, got.Runs[0].Run)
	require.Equal(t, http.StatusNotFound, jobstest.Ask(h, "GET", "/job/runs/other", "").Code)
	require.Equal(t, http.StatusUnprocessableEntity, jobstest.Ask(h, "GET", "/job/runs/a%2Fb?before=0", "").Code)

	page := jobstest.Ask(h, "GET", "/live/a%2Fb", "").Body.String()
	require.Contains(t, page, `<tr data-run="2">`)
	require.Contains(t, page, "a/b-run-2: stored")
	require.NotContains(t, page, `<tr data-run="3">`)
}

// A result that the repository takes late is noted in the record of its run.
func TestServer_Runs_noteResultsThatAreStoredLate(t *testing.T) {
	s := &shelf{away: make(chan struct{})}
	close(s.away)
	w := newWorld(t, flcollect.Config{Initial: zeros, Repository: s})
	trainRun(t, w, 1)
	trainRun(t, w, 2)
	runs, err := w.Runs(t.Context(), "a/b", 0, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"pending", "pending"}, []string{runs[0].Result.State, runs[1].Result.State})
	back := &shelf{away: make(chan struct{})}
	w = w.restart(t, flcollect.Config{Initial: zeros, Repository: back})
	require.Eventually(t, func() bool {
		runs, err := w.Runs(t.Context(), "a/b", 0, 0)
		return err == nil && len(runs) == 2 && runs[0].Result.State == "stored" && runs[1].Result.State == "stored"
	}, patience, time.Millisecond)
	require.Equal(t, map[string]float64{"a/b": 1, "a/b-run-2": 2}, back.numbers())
}
