package flcollect_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
)

func TestServer_Page_makesAnAsynchronousJob(t *testing.T) {
	b := newBoard()
	h := flcollect.HandlerOf(b, nil)
	w := send(h, "/new", filled("async", "1", "async.buffer", "3", "async.staleness", "0"))
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body.String())
	config, none := b.started["new"], 0.0
	require.Equal(t, &flcollect.JobAsync{Buffer: 3, Staleness: &none}, config.Async)

	b.job(flcollect.Status{Job: "new", Run: 1, State: flcollect.Finished, Config: config})
	page := ask(h, "GET", "/new?from=new", "").Body.String()
	require.Contains(t, page, `id="async" value="1" checked`)
	require.Contains(t, page, `name="async.buffer" type="number" step="1" value="3" min="1" max="10000" placeholder="min_fit_clients"`)
	require.Contains(t, page, `name="async.staleness" type="number" step="any" value="0"`)

	w = send(h, "/new", filled("id", "private", "async", "1", "dp", "1", "dp.noise_multiplier", "0.1"))
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Regexp(t, `class="fault" id="fault-async">The value has no meaning with dp-adaptive[^<]+\.<`, w.Body.String())
	w = send(h, "/new", filled("id", "rounds", "async.buffer", "3"))
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.Nil(t, b.started["rounds"].Async, "the box is not checked")
}

func TestServer_Page_showsVersionsAndTheirStaleness(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	for range 2 {
		w.join(t, trainer{step: 1, examples: 10})
	}
	require.NoError(t, w.Start(t.Context(), "job", asynchronous(withAvailable(config(6, 1), 2, 1), 1, 2, 0.25)))
	w.untilState(t, "job", flcollect.Finished)
	page := ask(w.Page(nil), "GET", "/live/job", "").Body.String()
	require.Contains(t, page, "Version 6 of 6")
	require.Contains(t, page, "buffer 1, concurrency 2, exponent of staleness 0.25")
	require.Regexp(t, `data-field="staleness">staleness [0-9.]+, at most [0-9]+<`, page)
	answer := ask(w.Page(nil), "GET", "/api/job/status/job", "").Body.String()
	require.Contains(t, answer, `"async":{"buffer":1,"concurrency":2,"staleness":0.25}`)
	answer = ask(w.Page(nil), "GET", "/api/job/rounds/job", "").Body.String()
	require.Contains(t, answer, `"async":{"mean_staleness":`)
	answer = ask(w.Page(nil), "GET", "/api/job/rounds/job/6/report", "").Body.String()
	require.Contains(t, answer, `"staleness":`)
}
