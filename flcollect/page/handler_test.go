package page_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/page"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/rest"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
)

func TestNewHandler_servesPagesWithoutForeignAssets(t *testing.T) {
	b := jobstest.NewBoard()
	b.Job(flcollect.Status{Job: "a", Run: 1, State: report.Training, Config: jobconfig.Config{Rounds: 2}})
	h := boardPages(b)
	asset := regexp.MustCompile(`(?:href|src)="([^"]*page/[^"]*)"`)
	for path, root := range map[string]string{"/": "./", "/live/a": "../", "/live/a/": "../../", "/new": "./", "/compare?job=a": "./"} {
		w := jobstest.Ask(h, "GET", path, "")
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
		require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; style-src 'self'")
		require.NotContains(t, w.Body.String(), "<style")
		require.NotContains(t, w.Body.String(), "http:")
		assets := asset.FindAllStringSubmatch(w.Body.String(), -1)
		require.GreaterOrEqual(t, len(assets), 4)
		for _, a := range assets {
			require.Contains(t, a[1], root+"page/")
			require.Equal(t, http.StatusOK, jobstest.Ask(h, "GET", "/"+a[1][len(root):], "").Code, a[1])
		}
	}
	require.Contains(t, jobstest.Ask(h, "GET", "/page/uPlot.LICENSE.txt", "").Body.String(), "Permission is hereby granted")
	require.Equal(t, "image/svg+xml", jobstest.Ask(h, "GET", "/favicon.ico", "").Header().Get("Content-Type"))
	for _, path := range []string{"/page/", "/page/job.html", "/page/..%2Fhandler.go", "/live/unknown", "/live/a%00"} {
		require.Equal(t, http.StatusNotFound, jobstest.Ask(h, "GET", path, "").Code, path)
	}
}

func TestNewHandler_rendersThePageOfAJobWithoutJavaScript(t *testing.T) {
	b := jobstest.NewBoard()
	h := boardPages(b)
	const name = `<img src=x onerror=alert(1)>/"`
	status := flcollect.Status{Job: name, Run: 1, State: report.Training,
		Config: jobconfig.Config{Rounds: 30, Strategy: "avg", ModelName: "<b>"}}
	b.Job(status)
	b.Round(name, 25)
	status.Round = 25
	status.Early = &report.EarlyEnd{Metric: "accuracy", Value: 0.99, Target: 0.9}
	for i := range 3 {
		status.Quarantined = append(status.Quarantined, report.Quarantine{Round: i, Client: "c", Reason: fmt.Sprintf("reason %d", i)})
	}
	b.Job(status)
	b.Reports[name] = report.RoundReport{Round: 25, Clients: []report.Client{{
		Client: name, Name: name, Session: "ipv4:192.0.2.1:5", Outcome: name, Reason: name,
	}}}
	page := jobstest.Ask(h, "GET", "/live/%3Cimg%20src=x%20onerror=alert(1)%3E%2F%22", "").Body.String()
	require.NotContains(t, page, "<img src=x")
	require.Contains(t, page, "<strong>&lt;img src=x", "a client names itself")
	require.NotContains(t, page, "<b>")
	require.Contains(t, page, `<progress value="25" max="30"`)
	require.Contains(t, page, `href="../job/result/%3Cimg%20src=x%20onerror=alert%281%29%3E%2F%22"`)
	require.Contains(t, page, `<tr data-round="16">`)
	require.NotContains(t, page, `<tr data-round="15">`)
	require.Contains(t, page, `data-field="loss">0.04<`)
	require.Contains(t, page, "Ended early: accuracy was 0.99, more than 0.9.")
	require.Regexp(t, `(?s)reason 2.*reason 1.*reason 0`, page)
}

// boardPages are the pages of a board, beside a REST interface.
func boardPages(b *jobstest.Board) http.Handler {
	return page.HandlerFor(b, &page.HandlerOptions{Root: true})
}

// post sends an empty form, as a page does.
func post(h http.Handler, path string) *httptest.ResponseRecorder { return send(h, path, url.Values{}) }

func TestNewHandler_saysWhoIsMissingAndHowClientsConnect(t *testing.T) {
	b := jobstest.NewBoard()
	b.Job(flcollect.Status{Job: "a", Run: 1, State: report.Waiting, Round: -1, Clients: 2, Needed: 3,
		Config: jobconfig.Config{Rounds: 2}})
	b.Connected = []flcollect.Client{
		{Identity: "session:x", Name: "<clinic>", Session: "ipv4:192.0.2.1:5"}, {Identity: "key:1", Session: "hospital.example"},
	}
	h := page.HandlerFor(b, &page.HandlerOptions{
		Clients: page.ClientEndpoint{Address: "0.0.0.0:8088", Token: true}, REST: rest.HandlerOptions{Authorize: httpapitest.Authorize},
	})
	open := page.HandlerFor(b, &page.HandlerOptions{Clients: page.ClientEndpoint{Address: "[2001:db8::1]:8088", TLS: true}})
	page := jobstest.Ask(h, "GET", "/live/a", "", "Authorization", "Bearer operator").Body.String()
	require.Contains(t, page, `data-field="missing">1 more client</span>`)
	require.Contains(t, page, `data-field="names">&lt;clinic&gt;, hospital.example</span>`)
	require.Contains(t, page, `server_address="example.com:8088"`, "the host by which the page was requested")
	require.Contains(t, page, "FLOWER_TOKEN=YOUR_TOKEN go run ./examples/flclient example.com:8088")
	require.Contains(t, page, "insecure=True")
	page = jobstest.Ask(h, "GET", "/live/a", "", "Authorization", "Bearer reader").Body.String()
	require.Contains(t, page, `data-field="connected">2 of 3</span>`)
	require.NotContains(t, page, "hospital.example", "a reader does not see who the clients are")

	h = open
	page = jobstest.Ask(h, "GET", "/live/a", "").Body.String()
	require.Contains(t, page, `server_address="[2001:db8::1]:8088"`)
	require.Contains(t, page, "root_certificates=")
	require.Equal(t, `["\u003cclinic\u003e","hospital.example"]`,
		strings.TrimSpace(jobstest.Ask(h, "GET", "/live/a/clients", "").Body.String()))
	b.Job(flcollect.Status{Job: "a", Run: 1, State: report.Training, Clients: 3, Needed: 3})
	page = jobstest.Ask(h, "GET", "/live/a", "").Body.String()
	require.Contains(t, page, `<section class="card" id="waiting" aria-labelledby="waiting-title" hidden>`)
}

func TestNewHandler_stopsAndTrainsOneJob(t *testing.T) {
	b := jobstest.NewBoard()
	config := jobconfig.Config{Rounds: 2, Strategy: "avg"}
	b.Job(flcollect.Status{Job: "a/b", Run: 1, State: report.Interrupted, Config: config})
	h := boardPages(b)
	w := post(h, "/live/a%2Fb/stop")
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.Equal(t, "../a%2Fb", w.Header().Get("Location"))
	require.Equal(t, []string{"a/b"}, b.Stopped)
	require.Zero(t, b.Stops)
	w = post(h, "/live/a%2Fb/again")
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.Equal(t, config, b.Started["a/b"])
	for _, path := range []string{"/live/absent/stop", "/live/absent/again"} {
		w = post(h, path)
		require.Equal(t, http.StatusNotFound, w.Code, path)
		require.Contains(t, w.Body.String(), `<p class="fault" role="alert">There is no job of this id.</p>`, path)
	}
}

func TestNewHandler_marksWhatDiffers(t *testing.T) {
	b := jobstest.NewBoard()
	for i, id := range []string{"a", "b/2"} {
		config := jobconfig.Config{Rounds: 2, Strategy: "FedAdam", ModelName: "<m>",
			StrategyConf: strategy.Conf{"eta": 0.1 * float64(i+1)}}
		b.Job(flcollect.Status{Job: id, Run: 1, State: report.Finished, Config: config})
		b.Round(id, i+1)
	}
	h := boardPages(b)
	page := jobstest.Ask(h, "GET", "/compare?job=a&job=b%2F2&job=a&job=", "").Body.String()
	require.Contains(t, page, `data-jobs="[&#34;a&#34;,&#34;b/2&#34;]"`)
	require.Contains(t, page, `<tr class="differs"><th scope="row"><code>strategy_conf.eta</code> <span class="mark">differs</span></th>`+
		`<td>0.1</td><td>0.2</td></tr>`)
	require.Contains(t, page, `<tr><th scope="row"><code>model_name</code></th><td>&lt;m&gt;</td><td>&lt;m&gt;</td></tr>`)
	require.Contains(t, page, `<tr><th scope="row">Loss</th><td>1</td><td>0.5</td></tr>`)
	require.Contains(t, jobstest.Ask(h, "GET", "/compare?job=a", "").Body.String(), "Add two to six")
	require.Equal(t, http.StatusNotFound, jobstest.Ask(h, "GET", "/compare?job=a&job=absent", "").Code)
	require.Equal(t, http.StatusBadRequest, jobstest.Ask(h, "GET", "/compare?job=1&job=2&job=3&job=4&job=5&job=6&job=7", "").Code)
}

// The pages work wherever they are mounted, with the REST interface below them.
func TestNewHandler_worksWhereverItIsMounted(t *testing.T) {
	jobs, _ := jobstest.Run(t, flcollect.Config{})
	require.NoError(t, jobs.Start(t.Context(), "job", jobconfig.Config{
		Strategy: "avg", ModelName: "m", ModelVersion: "1", Rounds: 2, ConfigurationID: "7",
		StrategyConf: strategy.Conf{"min_fit_clients": 3, "min_evaluate_clients": 3, "min_available_clients": 3},
	}))
	mux := http.NewServeMux()
	mux.Handle("/some/place/", http.StripPrefix("/some/place", page.NewHandler(jobs, nil)))
	page := jobstest.Ask(mux, "GET", "/some/place/live/job", "").Body.String()
	require.Contains(t, page, `data-api="api/"`)
	require.Contains(t, page, `href="../api/job/rounds/job"`)
	require.Contains(t, page, `data-field="missing">3 more clients</span>`)
	require.Contains(t, jobstest.Ask(mux, "GET", "/some/place/api/job/status/job", "").Body.String(), `"clients_needed":3`)
	require.Equal(t, http.StatusSeeOther, post(mux, "/some/place/live/job/stop").Code)
	status, err := jobs.Status(t.Context(), "job")
	require.NoError(t, err)
	require.Equal(t, report.Interrupted, status.State)
	require.Equal(t, http.StatusNotFound, jobstest.Ask(mux, "GET", "/some/place/job/status/job", "").Code)
}

func TestNewHandler_pagesTheListOfJobs(t *testing.T) {
	b := jobstest.NewBoard()
	h := boardPages(b)
	require.Contains(t, jobstest.Ask(h, "GET", "/", "").Body.String(), "There is no job yet.")
	for i := range 101 {
		b.Job(flcollect.Status{Job: fmt.Sprintf("j/%03d", i), Run: 1, State: report.Waiting, Round: -1,
			Config: jobconfig.Config{Rounds: 1}})
	}
	first := jobstest.Ask(h, "GET", "/", "").Body.String()
	require.Contains(t, first, `href="live/j%2F000"`)
	require.Contains(t, first, `href="./?prefix=&amp;after=j%2f099"`)
	require.NotContains(t, first, "j/100")
	second := jobstest.Ask(h, "GET", "/?after=j%2F099", "").Body.String()
	require.Contains(t, second, "j/100")
	require.NotContains(t, second, "after=j")
	invalid := jobstest.Ask(h, "GET", "/?after=%00", "")
	require.Equal(t, http.StatusUnprocessableEntity, invalid.Code)
	require.Contains(t, invalid.Body.String(), `"type":"value_error"`)
	b.Err = errors.New("secret")
	w := jobstest.Ask(h, "GET", "/", "")
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), "The jobs cannot be listed at the moment.")
	require.NotContains(t, w.Body.String(), "secret")
}

func TestNewHandler_showsTheLastReportOnThePageOfAJob(t *testing.T) {
	b := jobstest.Reported(150)
	h := boardPages(b)
	page := jobstest.Ask(h, "GET", "/live/a", "").Body.String()
	require.Contains(t, page, "name:&lt;b&gt;")
	require.Contains(t, page, "its norm is 20")
	require.Contains(t, page, "1.25, suspended to round 4")
	require.Contains(t, page, "Updates of round 2: 149 kept, 1 clipped, 0 refused, 0 failed")
	require.Contains(t, page, `href="../job/rounds/a/2/report?after=100"`)
	require.NotContains(t, page, "name:00100")
	b.Err = errors.New("secret")
	require.Equal(t, http.StatusInternalServerError, jobstest.Ask(h, "GET", "/live/a", "").Code)
}
