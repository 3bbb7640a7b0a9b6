package main

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun_hasPagesForBrowsers(t *testing.T) {
	a := start(t, t.TempDir())
	visit := func(path, accept string) (*http.Response, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.url+path, nil)
		require.NoError(t, err)
		request.Header.Set("Accept", accept)
		answer, err := http.DefaultTransport.RoundTrip(request) // without following redirects
		require.NoError(t, err)
		defer func() { _ = answer.Body.Close() }()
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer, string(body)
	}
	for from, to := range map[string]string{"/": "/ui/", "/ui/": "/ui/annotation/"} {
		answer, _ := visit(from, "text/html,*/*;q=0.8")
		require.Equal(t, http.StatusSeeOther, answer.StatusCode, from)
		require.Equal(t, to, answer.Header.Get("Location"))
	}
	answer, page := visit("/ui/annotation/", "text/html")
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Contains(t, page, "No channels yet.")
	require.Contains(t, page, `aria-current="true">Annotation</a>`)

	answer, _ = visit("/", "*/*")
	require.Equal(t, http.StatusNotFound, answer.StatusCode, "programs get what they got")
	answer, body := visit("/channels", "text/html")
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.JSONEq(t, "{}", body, "the interface has its paths, also for browsers")
	answer, body = visit("/ui/annotation/api/channels", "*/*")
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.JSONEq(t, "{}", body)
}
