package flcollect_test

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
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
)

func TestNewHandler_servesPagesWithoutForeignAssets(t *testing.T) {
	b := newBoard()
	b.job(flcollect.Status{Job: "a", Run: 1, State: flcollect.Training, Config: flcollect.JobConfig{Rounds: 2}})
	h := flcollect.HandlerOf(b, nil)
	asset := regexp.MustCompile(`(?:href|src)="([^"]*page/[^"]*)"`)
	for path, root := range map[string]string{"/": "./", "/live/a": "../", "/live/a/": "../../", "/new": "./", "/compare?job=a": "./"} {
		w := ask(h, "GET", path, "")
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
		require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; style-src 'self'")
		require.NotContains(t, w.Body.String(), "<style")
		require.NotContains(t, w.Body.String(), "http:")
		assets := asset.FindAllStringSubmatch(w.Body.String(), -1)
		require.GreaterOrEqual(t, len(assets), 4)
		for _, a := range assets {
			require.Contains(t, a[1], root+"page/")
			require.Equal(t, http.StatusOK, ask(h, "GET", "/"+a[1][len(root):], "").Code, a[1])
		}
	}
	require.Contains(t, ask(h, "GET", "/page/uPlot.LICENSE.txt", "").Body.String(), "Permission is hereby granted")
	require.Equal(t, "image/svg+xml", ask(h, "GET", "/favicon.ico", "").Header().Get("Content-Type"))
	for _, path := range []string{"/page/", "/page/job.html", "/page/..%2Fhttp.go", "/live/unknown"} {
		require.Equal(t, http.StatusNotFound, ask(h, "GET", path, "").Code, path)
	}
}

func TestNewHandler_rendersThePageOfAJobWithoutJavaScript(t *testing.T) {
	b := newBoard()
	h := flcollect.HandlerOf(b, nil)
	const name = `<img src=x onerror=alert(1)>/"`
	status := flcollect.Status{Job: name, Run: 1, State: flcollect.Training,
		Config: flcollect.JobConfig{Rounds: 30, Strategy: "avg", ModelName: "<b>"}}
	b.job(status)
	b.round(name, 25)
	status.Round = 25
	status.Early = &flcollect.EarlyEnd{Metric: "accuracy", Value: 0.99, Target: 0.9}
	for i := range 3 {
		status.Quarantined = append(status.Quarantined, flcollect.Quarantine{Round: i, Client: "c", Reason: fmt.Sprintf("reason %d", i)})
	}
	b.job(status)
	b.reports[name] = flcollect.RoundReport{Round: 25, Clients: []flcollect.ClientReport{{
		Client: name, Name: name, Session: "ipv4:192.0.2.1:5", Outcome: name, Reason: name,
	}}}
	page := ask(h, "GET", "/live/%3Cimg%20src=x%20onerror=alert(1)%3E%2F%22", "").Body.String()
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

// post sends an empty form, as a page does.
func post(h http.Handler, path string) *httptest.ResponseRecorder { return send(h, path, url.Values{}) }

func TestServer_Page_saysWhoIsMissingAndHowClientsConnect(t *testing.T) {
	b := newBoard()
	b.job(flcollect.Status{Job: "a", Run: 1, State: flcollect.Waiting, Round: -1, Clients: 2, Needed: 3,
		Config: flcollect.JobConfig{Rounds: 2}})
	b.clients = []flcollect.Client{
		{Identity: "session:x", Name: "<clinic>", Session: "ipv4:192.0.2.1:5"}, {Identity: "key:1", Session: "hospital.example"},
	}
	options := &flcollect.HandlerOptions{
		Clients: flcollect.ClientEndpoint{Address: "0.0.0.0:8088", Token: true}, Authorize: httpapitest.Authorize,
	}
	page := ask(flcollect.HandlerOf(b, options), "GET", "/live/a", "", "Authorization", "Bearer operator").Body.String()
	require.Contains(t, page, `data-field="missing">1 more client</span>`)
	require.Contains(t, page, `data-field="names">&lt;clinic&gt;, hospital.example</span>`)
	require.Contains(t, page, `server_address="example.com:8088"`, "the host by which the page was requested")
	require.Contains(t, page, "FLOWER_TOKEN=YOUR_TOKEN go run ./examples/flclient example.com:8088")
	require.Contains(t, page, "insecure=True")
	page = ask(flcollect.HandlerOf(b, options), "GET", "/live/a", "", "Authorization", "Bearer reader").Body.String()
	require.Contains(t, page, `data-field="connected">2 of 3</span>`)
	require.NotContains(t, page, "hospital.example", "a reader does not see who the clients are")

	options = &flcollect.HandlerOptions{Clients: flcollect.ClientEndpoint{Address: "[2001:db8::1]:8088", TLS: true}}
	h := flcollect.HandlerOf(b, options)
	page = ask(h, "GET", "/live/a", "").Body.String()
	require.Contains(t, page, `server_address="[2001:db8::1]:8088"`)
	require.Contains(t, page, "root_certificates=")
	require.Equal(t, `["\u003cclinic\u003e","hospital.example"]`, strings.TrimSpace(ask(h, "GET", "/live/a/clients", "").Body.String()))
	b.job(flcollect.Status{Job: "a", Run: 1, State: flcollect.Training, Clients: 3, Needed: 3})
	page = ask(h, "GET", "/live/a", "").Body.String()
	require.Contains(t, page, `<section class="card" id="waiting" aria-labelledby="waiting-title" hidden>`)
}

func TestServer_Page_stopsAndTrainsOneJob(t *testing.T) {
	b := newBoard()
	config := flcollect.JobConfig{Rounds: 2, Strategy: "avg"}
	b.job(flcollect.Status{Job: "a/b", Run: 1, State: flcollect.Interrupted, Config: config})
	h := flcollect.HandlerOf(b, nil)
	w := post(h, "/live/a%2Fb/stop")
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.Equal(t, "../a%2Fb", w.Header().Get("Location"))
	require.Equal(t, []string{"a/b"}, b.stopped)
	require.Zero(t, b.stops)
	w = post(h, "/live/a%2Fb/again")
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.Equal(t, config, b.started["a/b"])
	for _, path := range []string{"/live/absent/stop", "/live/absent/again"} {
		w = post(h, path)
		require.Equal(t, http.StatusNotFound, w.Code, path)
		require.Contains(t, w.Body.String(), `<p class="fault" role="alert">There is no job of this id.</p>`, path)
	}
}

func TestServer_Page_marksWhatDiffers(t *testing.T) {
	b := newBoard()
	for i, id := range []string{"a", "b/2"} {
		config := flcollect.JobConfig{Rounds: 2, Strategy: "FedAdam", ModelName: "<m>",
			StrategyConf: strategy.Conf{"eta": 0.1 * float64(i+1)}}
		b.job(flcollect.Status{Job: id, Run: 1, State: flcollect.Finished, Config: config})
		b.round(id, i+1)
	}
	h := flcollect.HandlerOf(b, nil)
	page := ask(h, "GET", "/compare?job=a&job=b%2F2&job=a&job=", "").Body.String()
	require.Contains(t, page, `data-jobs="[&#34;a&#34;,&#34;b/2&#34;]"`)
	require.Contains(t, page, `<tr class="differs"><th scope="row"><code>strategy_conf.eta</code> <span class="mark">differs</span></th>`+
		`<td>0.1</td><td>0.2</td></tr>`)
	require.Contains(t, page, `<tr><th scope="row"><code>model_name</code></th><td>&lt;m&gt;</td><td>&lt;m&gt;</td></tr>`)
	require.Contains(t, page, `<tr><th scope="row">Loss</th><td>1</td><td>0.5</td></tr>`)
	require.Contains(t, ask(h, "GET", "/compare?job=a", "").Body.String(), "Add two to six")
	require.Equal(t, http.StatusNotFound, ask(h, "GET", "/compare?job=a&job=absent", "").Code)
	require.Equal(t, http.StatusBadRequest, ask(h, "GET", "/compare?job=1&job=2&job=3&job=4&job=5&job=6&job=7", "").Code)
}

// The pages work wherever they are mounted, with the REST interface below them.
func TestServer_Page_worksWhereverItIsMounted(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	require.NoError(t, w.Start(t.Context(), "job", config(2, 3)))
	mux := http.NewServeMux()
	mux.Handle("/some/place/", http.StripPrefix("/some/place", w.Page(nil)))
	page := ask(mux, "GET", "/some/place/live/job", "").Body.String()
	require.Contains(t, page, `data-api="api/"`)
	require.Contains(t, page, `href="../api/job/rounds/job"`)
	require.Contains(t, page, `data-field="missing">3 more clients</span>`)
	require.Contains(t, ask(mux, "GET", "/some/place/api/job/status/job", "").Body.String(), `"clients_needed":3`)
	require.Equal(t, http.StatusSeeOther, post(mux, "/some/place/live/job/stop").Code)
	w.untilState(t, "job", flcollect.Interrupted)
	require.Equal(t, http.StatusNotFound, ask(mux, "GET", "/some/place/job/status/job", "").Code)
}

func TestNewHandler_pagesTheListOfJobs(t *testing.T) {
	b := newBoard()
	h := flcollect.HandlerOf(b, nil)
	require.Contains(t, ask(h, "GET", "/", "").Body.String(), "There is no job yet.")
	for i := range 101 {
		b.job(flcollect.Status{Job: fmt.Sprintf("j/%03d", i), Run: 1, State: flcollect.Waiting, Round: -1,
			Config: flcollect.JobConfig{Rounds: 1}})
	}
	first := ask(h, "GET", "/", "").Body.String()
	require.Contains(t, first, `href="live/j%2F000"`)
	require.Contains(t, first, `href="./?prefix=&amp;after=j%2f099"`)
	require.NotContains(t, first, "j/100")
	second := ask(h, "GET", "/?after=j%2F099", "").Body.String()
	require.Contains(t, second, "j/100")
	require.NotContains(t, second, "after=j")
	b.err = errors.New("secret")
	w := ask(h, "GET", "/", "")
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), "The jobs cannot be listed at the moment.")
	require.NotContains(t, w.Body.String(), "secret")
}
