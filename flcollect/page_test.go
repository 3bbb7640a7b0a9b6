package flcollect_test

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
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
	page := ask(h, "GET", "/live/%3Cimg%20src=x%20onerror=alert(1)%3E%2F%22", "").Body.String()
	require.NotContains(t, page, "<img src=x")
	require.NotContains(t, page, "<b>")
	require.Contains(t, page, `<progress value="25" max="30"`)
	require.Contains(t, page, `href="../job/result/%3Cimg%20src=x%20onerror=alert%281%29%3E%2F%22"`)
	require.Contains(t, page, `<tr data-round="16">`)
	require.NotContains(t, page, `<tr data-round="15">`)
	require.Contains(t, page, `data-field="loss">0.04<`)
	require.Contains(t, page, "Ended early: accuracy was 0.99, more than 0.9.")
	require.Regexp(t, `(?s)reason 2.*reason 1.*reason 0`, page)
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
