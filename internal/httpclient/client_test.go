package httpclient_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpclient"
)

func TestBaseURL_hidesThePasswordInItsErrors(t *testing.T) {
	base, err := httpclient.BaseURL("https://u:p@host:81/below")
	require.NoError(t, err)
	require.Equal(t, "host:81", base.Host)
	for text, want := range map[string]string{
		"": `"": expected http://HOST or https://HOST`, "host:80": "expected http", "http://": "expected http", "/path": "expected http",
		"ftp://u:secret@host": `"ftp://u:xxxxx@host": expected http`, "http://u:secret@host\x7f": "not a URL",
	} {
		_, err := httpclient.BaseURL(text)
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestNew_followsNoRedirectThatTurnsAPostIntoAGet(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.Path)
		switch r.URL.Path {
		case "/found":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/kept":
			http.Redirect(w, r, "/end", http.StatusPermanentRedirect)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusTemporaryRedirect)
		}
	}))
	defer server.Close()
	post := func(client *http.Client, path string) (int, error) {
		got = nil
		answer, err := client.Post(server.URL+path, "text/plain", strings.NewReader("x"))
		if err != nil {
			return 0, err
		}
		return answer.StatusCode, answer.Body.Close()
	}
	client := httpclient.New(nil)
	status, err := post(client, "/found")
	require.NoError(t, err)
	require.Equal(t, http.StatusFound, status)
	require.Equal(t, []string{"POST /found"}, got)

	status, err = post(client, "/kept")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, []string{"POST /kept", "POST /end"}, got)

	_, err = post(client, "/round")
	require.ErrorContains(t, err, "too many redirects")
	require.Len(t, got, 10)

	own := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("not here") }}
	_, err = post(httpclient.New(own), "/kept")
	require.ErrorContains(t, err, "not here", "the rule of the client itself holds as well")
	status, err = post(httpclient.New(own), "/found")
	require.NoError(t, err)
	require.Equal(t, http.StatusFound, status)
}

func TestRefused_reportsFinalAnswers(t *testing.T) {
	for status, want := range map[int]bool{
		400: true, 401: true, 404: true, 405: true, 409: true, 413: true, 422: true,
		200: false, 302: false, 408: false, 425: false, 429: false, 500: false, 502: false, 503: false,
	} {
		require.Equal(t, want, httpclient.Refused(status), status)
	}
}
