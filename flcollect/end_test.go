package flcollect_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/storage"
)

func TestServer_earlyEnd_endsTheTraining(t *testing.T) {
	n := &neighbours{}
	w := newWorld(t, flcollect.Config{Initial: zeros, Repository: n, Orchestrator: n})
	clients := make([]<-chan error, 2)
	for i := range clients {
		clients[i], _ = w.join(t, trainer{step: 1, examples: 1})
	}
	var early atomic.Bool
	n.down = func(call string) error {
		if call == "early" {
			early.Store(true)
			require.Equal(t, 2, w.Totals().Clients, "clients leave after the report to the orchestrator")
			_, stored := n.stored("job")
			require.True(t, stored)
		}
		return nil
	}
	conf := config(9, 2)
	// The accuracy is 0.1 after the first round, 0.2 after the second: a target
	// that is only reached is not surpassed.
	conf.Stopping, conf.Targets = true, map[string]float64{"accuracy": 0.1, "other": -1}
	require.NoError(t, w.Start(t.Context(), "job", conf))
	status := w.untilState(t, "job", report.Finished)
	require.Equal(t, 2, status.Round)
	require.Equal(t, "accuracy", status.Early.Metric)
	require.InDelta(t, 0.2, status.Early.Value, 1e-9)
	require.True(t, status.Stored)
	require.True(t, early.Load())
	require.Equal(t, []string{"round 1", "store job", "early 2 accuracy"}, n.all())
	for _, ended := range clients {
		require.NoError(t, <-ended, "it is sent away gracefully")
	}
	result, _ := n.stored("job")
	require.Equal(t, 2, result.Rounds)
	require.Equal(t, []float64{2, 2, 2, 3}, numbers(result.Weights))
}

func TestServer_earlyEnd_needsTheStoppingFlag(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	w.join(t, trainer{step: 1, examples: 1})
	conf := config(3, 1)
	conf.Targets = map[string]float64{"accuracy": 0}
	require.NoError(t, w.Start(t.Context(), "job", conf))
	status := w.untilState(t, "job", report.Finished)
	require.Equal(t, 3, status.Round)
	require.Nil(t, status.Early)
}

func TestServer_StopJob_leavesTheOthers(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	slow, gate := gated(1, 1)
	ended, _ := w.joinAs(t, slow, "one.example:1")
	require.NoError(t, w.Start(t.Context(), "one", config(2, 1)))
	require.NoError(t, w.Start(t.Context(), "other", config(2, 5)))
	w.untilState(t, "one", report.Training)
	for range 2 { // the second time it has ended
		require.NoError(t, w.StopJob(t.Context(), "one"))
		status, err := w.Status(t.Context(), "one")
		require.NoError(t, err)
		require.Equal(t, report.Interrupted, status.State)
		require.Equal(t, "stopped on request", status.Error)
		require.Zero(t, status.Needed)
	}
	gate <- struct{}{}
	require.NoError(t, <-ended)
	status, err := w.Status(t.Context(), "other")
	require.NoError(t, err)
	require.Equal(t, report.Waiting, status.State)
	require.Equal(t, 5, status.Needed)
	require.ErrorIs(t, w.StopJob(t.Context(), "absent"), flcollect.ErrUnknown)
	h := w.web()
	require.Equal(t, http.StatusNotFound, jobstest.Ask(h, "POST", "/job/stop/absent", "").Code)
	require.Equal(t, http.StatusUnprocessableEntity, jobstest.Ask(h, "POST", "/job/stop/"+strings.Repeat("x", 300), "").Code)
	require.Equal(t, "200", jobstest.Ask(h, "POST", "/job/stop/other", "").Body.String())
	w.untilState(t, "other", report.Interrupted)
}

func TestServer_Clients_haveTheNamesThatTheyGiveThemselves(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	require.NoError(t, w.Start(t.Context(), "job", config(1, 3)))
	w.joinNamed(t, trainer{step: 1, examples: 1}, "ward")
	w.joinNamed(t, trainer{step: 1, examples: 1}, "clinic")
	w.until(t, "job", "joined by two", func(s flcollect.Status) bool { return s.Clients == 2 })
	clients := w.Clients("job")
	require.Len(t, clients, 2)
	require.Equal(t, "clinic", clients[0].String())
	require.Equal(t, "ward", clients[1].Name)
	require.Empty(t, w.Clients("absent"))
	w.join(t, trainer{step: 1, examples: 1})
	w.untilState(t, "job", report.Finished)
	found, err := w.Report(t.Context(), "job", 1, 0, 0)
	require.NoError(t, err)
	names := []string{}
	for _, c := range found.Clients {
		names = append(names, c.Name)
	}
	require.ElementsMatch(t, []string{"", "clinic", "ward"}, names)
}

func TestServer_Stop_interruptsAllJobs(t *testing.T) {
	n := &neighbours{}
	w := newWorld(t, flcollect.Config{Initial: zeros, Repository: n, Orchestrator: n})
	slow, gate := gated(1, 1)
	gate <- struct{}{}
	ended, _ := w.join(t, slow)
	require.NoError(t, w.Start(t.Context(), "trains", config(2, 1)))
	w.until(t, "trains", "at round 1", func(s flcollect.Status) bool { return s.Round == 1 })
	require.NoError(t, w.Start(t.Context(), "waits", config(2, 5)))
	for range 2 { // the second time there is nothing to stop
		require.NoError(t, w.Stop(t.Context()))
		for _, id := range []string{"trains", "waits"} {
			status, err := w.Status(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, report.Interrupted, status.State)
			require.Equal(t, "stopped on request", status.Error)
		}
	}
	gate <- struct{}{}
	require.NoError(t, <-ended, "it is sent away once it has answered, as at the end of a training")
	require.Equal(t, []float64{1, 1, 1, 2}, w.weights(t, "trains"), "the last good model")
	require.Eventually(t, func() bool { return w.Totals().Undelivered == 0 }, patience, time.Millisecond)
	require.Equal(t, []string{"round 1"}, n.all())

	w.join(t, trainer{step: 1, examples: 1})
	require.NoError(t, w.Start(t.Context(), "trains", config(1, 1)), "and from the beginning")
	status := w.untilState(t, "trains", report.Finished)
	require.EqualValues(t, 2, status.Run)
	require.Equal(t, []float64{1, 1, 1, 2}, w.weights(t, "trains"))
}

func TestServer_delivery_outlastsAnOutage(t *testing.T) {
	var down atomic.Bool
	down.Store(true)
	n := &neighbours{down: func(call string) error {
		if down.Load() && call != "model" {
			return fmt.Errorf("%s: %w", call, errDown)
		}
		return nil
	}}
	documents, blobs := storage.NewMemoryDocuments(), storage.NewMemoryBlobs()
	w := newWorld(t, flcollect.Config{Documents: documents, Blobs: blobs, Initial: zeros, Repository: n, Orchestrator: n})
	client, _ := w.join(t, trainer{step: 1, examples: 1})
	require.NoError(t, w.Start(t.Context(), "job", config(2, 1)))
	status := w.untilState(t, "job", report.Finished)
	require.NoError(t, <-client, "training does not wait for neighbours")
	require.False(t, status.Stored)
	require.Contains(t, status.Error, "repository: store: connection refused")
	require.Contains(t, status.Error, "orchestrator: round: connection refused")
	require.Equal(t, 1, w.Totals().Undelivered)

	// Another run does not cost the first one its result.
	w.join(t, trainer{step: 5, examples: 1})
	require.NoError(t, w.Start(t.Context(), "job", config(1, 1)))
	w.until(t, "job", "finished again", func(s flcollect.Status) bool { return s.State == report.Finished && s.Run == 2 })
	w.end()

	w = newWorld(t, flcollect.Config{Documents: documents, Blobs: blobs, Repository: n, Orchestrator: n})
	status = w.untilState(t, "job", report.Finished)
	require.False(t, status.Stored)
	down.Store(false)
	status = w.until(t, "job", "stored", func(s flcollect.Status) bool { return s.Stored && s.Error == "" })
	require.EqualValues(t, 2, status.Run)
	require.Eventually(t, func() bool { return w.Totals().Undelivered == 0 }, patience, time.Millisecond)
	require.ElementsMatch(t, []string{"store job", "store job", "round 1"}, n.all())
	result, _ := n.stored("job")
	require.Equal(t, []float64{5, 5, 5, 6}, numbers(result.Weights), "the newer one comes last")
	blobsLeft := 0
	for _, err := range blobs.List(t.Context(), "") {
		require.NoError(t, err)
		blobsLeft++
	}
	require.Equal(t, 1, blobsLeft)
}

func TestServer_delivery_takesARefusalAsFinal(t *testing.T) {
	n := &neighbours{down: func(call string) error {
		if call == "model" {
			return nil
		}
		return fmt.Errorf("%w: not of this house", flcollect.ErrRefused)
	}}
	w := newWorld(t, flcollect.Config{Initial: zeros, Repository: n, Orchestrator: n})
	w.join(t, trainer{step: 1, examples: 1})
	require.NoError(t, w.Start(t.Context(), "job", config(1, 1)))
	status := w.untilState(t, "job", report.Finished)
	require.False(t, status.Stored)
	require.Contains(t, status.Error, "tell the orchestrator of round 1: flcollect: refused: not of this house")
	require.Contains(t, status.Error, "store the result: flcollect: refused")
	require.Eventually(t, func() bool { return w.Totals().Undelivered == 0 }, patience, time.Millisecond)
}

func TestServer_Start_waitsForTheRepository(t *testing.T) {
	var down atomic.Bool
	down.Store(true)
	n := &neighbours{down: func(call string) error {
		if down.Load() {
			return errDown
		}
		return nil
	}}
	w := newWorld(t, flcollect.Config{Repository: n})
	w.join(t, trainer{step: 1, examples: 1, begin: []float32{1}})
	require.NoError(t, w.Start(t.Context(), "job", config(1, 1)))
	status := w.until(t, "job", "in trouble", func(s flcollect.Status) bool { return s.Error != "" })
	require.Equal(t, report.Waiting, status.State)
	require.Equal(t, "model: connection refused", status.Error)
	down.Store(false)
	status = w.untilState(t, "job", report.Finished)
	require.Empty(t, status.Error)
	require.Equal(t, []float64{2}, w.weights(t, "job"))
}

func TestServer_Run_hasClientsReconnectAfterARestart(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		w := newWorldOn(t, lan, flcollect.Config{Initial: zeros, Park: time.Second})
		seen := make(chan struct{}, 10)
		w.join(t, trainer{step: 1, examples: 1, fit: func(context.Context, flower.FitIns, *flower.FitRes) error {
			seen <- struct{}{}
			return nil
		}})
		require.NoError(t, w.Start(t.Context(), "job", config(1, 2)))
		w.until(t, "job", "joined", func(s flcollect.Status) bool { return s.Clients == 1 })
		again := w.restart(t, flcollect.Config{Initial: zeros})
		again.until(t, "job", "joined again", func(s flcollect.Status) bool { return s.Clients == 1 })
		again.join(t, trainer{step: 1, examples: 1})
		again.untilState(t, "job", report.Finished)
		require.Len(t, seen, 1)
	})
}

func TestServer_Run_sendsTrainingClientsAway(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		w := newWorldOn(t, lan, flcollect.Config{Initial: zeros, Park: time.Second})
		slow, gate := gated(1, 1)
		client, _ := w.join(t, slow)
		require.NoError(t, w.Start(t.Context(), "job", config(1, 1)))
		w.untilState(t, "job", report.Training)
		go func() {
			for w.Ready() == nil { // until the server is about to end
				<-time.After(time.Millisecond)
			}
			gate <- struct{}{}
			gate <- struct{}{} // for the round that is conducted again
		}()
		again := w.restart(t, flcollect.Config{Initial: zeros})
		status := again.untilState(t, "job", report.Finished)
		require.EqualValues(t, 1, status.Run)
		require.NoError(t, <-client)
		require.Equal(t, []float64{1, 1, 1, 2}, again.weights(t, "job"))
	})
}
