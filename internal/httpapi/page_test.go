package httpapi_test

import (
	"html/template"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/look"
)

func TestWritePage_locksThePageIn(t *testing.T) {
	page := template.Must(template.New("one").Parse(`<p>{{.}}</p>{{define "other"}}<b>{{.}}</b>{{end}}`))
	for name, want := range map[string]string{"": "<p>a &amp; b</p>", "other": "<b>a &amp; b</b>"} {
		w := httptest.NewRecorder()
		require.NoError(t, httpapi.WritePage(w, http.StatusForbidden, page, name, "a & b", httpapi.FormPage()))
		require.Equal(t, http.StatusForbidden, w.Code)
		require.Equal(t, want, w.Body.String())
		require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		require.Equal(t, "same-origin", w.Header().Get("Referrer-Policy"))
		policy := w.Header().Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none';")
		require.Contains(t, policy, "form-action 'self'")
		require.NotContains(t, policy, "unsafe")
	}
	w := httptest.NewRecorder()
	require.NoError(t, httpapi.WritePage(w, http.StatusOK, page, "", "", httpapi.ReadOnlyPage()))
	require.Contains(t, w.Header().Get("Content-Security-Policy"), "form-action 'none'")
	require.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"))
}

func TestWritePage_writesNothingOfATemplateThatFails(t *testing.T) {
	page := template.Must(template.New("broken").Parse(`<p>{{.None}}</p>`))
	w := httptest.NewRecorder()
	err := httpapi.WritePage(w, http.StatusOK, page, "", struct{}{}, httpapi.ReadOnlyPage())
	require.ErrorContains(t, err, `render page "broken"`)
	require.Zero(t, w.Body.Len())
	require.Empty(t, w.Header())
}

func TestAssets_Serve_answersWithTheFileOfTheName(t *testing.T) {
	own := fstest.MapFS{"page/page.css": {Data: []byte("p{}")}}
	assets := httpapi.Assets{"page.css": {Files: own, Path: "page/page.css"}, "icon.svg": {Files: look.Files}}
	h := httpapi.NewHandler([]httpapi.Route{
		{Pattern: "GET /assets/{name}", Func: assets.Serve},
		{Pattern: "GET /favicon.ico", Func: httpapi.Icon},
	}, nil)
	style := serve(h, "GET", "/assets/page.css", "", "")
	require.Equal(t, "p{}", style.Body.String())
	require.Equal(t, "no-cache", style.Header().Get("Cache-Control"))
	require.Equal(t, "text/css; charset=utf-8", style.Header().Get("Content-Type"))
	icon := serve(h, "GET", "/assets/icon.svg", "", "")
	require.Equal(t, "image/svg+xml", icon.Header().Get("Content-Type"))
	require.Equal(t, icon.Body.String(), serve(h, "GET", "/favicon.ico", "", "").Body.String())
	for _, name := range []string{"none.css", "page%2Fpage.css", "look.css"} {
		require.Equal(t, http.StatusNotFound, serve(h, "GET", "/assets/"+name, "", "").Code, name)
	}
}
