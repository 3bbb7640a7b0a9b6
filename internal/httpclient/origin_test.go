package httpclient_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpclient"
)

// A service that redirects elsewhere gets neither the token nor the body sent there, on
// another port of the same host either.
func TestNew_followsNoRedirectToAnotherOrigin(t *testing.T) {
	reached := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	defer other.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(other.URL, "http://"), ":")
	target := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	for _, target = range []string{
		other.URL + "/there", "http://localhost:" + port + "/", "https://" + strings.TrimPrefix(server.URL, "http://") + "/",
		"//127.0.0.1:" + port + "/", "http://user@127.0.0.1:" + port + "/", "file:///etc/passwd", "gopher://127.0.0.1:" + port + "/",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			request, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/here", strings.NewReader("body"))
			require.NoError(t, err)
			httpclient.Authorize(request, "token")
			_, err = httpclient.New(nil).Do(request)
			require.ErrorContains(t, err, "redirected to another server", target)
		}
	}
	require.Zero(t, reached)
}

func TestNew_followsRedirectsWithinAnOriginWithTheToken(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.URL.Path+" "+r.Header.Get("Authorization"))
		if r.URL.Path == "/here" {
			http.Redirect(w, r, strings.ToUpper("http://")+r.Host+"/there", http.StatusPermanentRedirect)
		}
	}))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/here", strings.NewReader("body"))
	require.NoError(t, err)
	httpclient.Authorize(request, "token")
	answer, err := httpclient.New(nil).Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, []string{"/here Bearer token", "/there Bearer token"}, got)

	httpclient.Authorize(request, "")
	require.Equal(t, "Bearer token", request.Header.Get("Authorization"), "no token changes nothing")
}

func TestCheckToken_refusesWhatAHeaderCannotCarry(t *testing.T) {
	plain, err := httpclient.BaseURL("http://host")
	require.NoError(t, err)
	named, err := httpclient.BaseURL("http://user@host")
	require.NoError(t, err)
	for _, token := range []string{"", "abc.DEF-123_~+/="} {
		require.NoError(t, httpclient.CheckToken(token, plain))
	}
	require.NoError(t, httpclient.CheckToken("", named))
	for _, token := range []string{"sec ret", "secret\n", "secret\r\nX: y", "secrét"} {
		err := httpclient.CheckToken(token, plain)
		require.ErrorContains(t, err, "printable ASCII")
		require.NotContains(t, err.Error(), "sec")
	}
	require.ErrorContains(t, httpclient.CheckToken("secret", named), "user already")
}

func TestDenied_isWhatOtherCredentialsChange(t *testing.T) {
	for status, want := range map[int]bool{401: true, 403: true, 200: false, 400: false, 404: false, 500: false} {
		require.Equal(t, want, httpclient.Denied(status), status)
	}
}
