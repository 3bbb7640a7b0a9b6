package rest_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/nodetest"
	"github.com/iotenablers/enablers/multilink/node/rest"
	"github.com/iotenablers/enablers/storage"
)

// closed returns requests of every kind that are not answered without a token.
func closed() [][2]string {
	return [][2]string{
		{"POST", "/interfaces/add"}, {"GET", "/interfaces"}, {"GET", "/interfaces/"}, {"PUT", "/interfaces"},
		{"GET", "/interfaces/x"}, {"PATCH", "/interfaces/x"}, {"DELETE", "/interfaces/x"},
		{"POST", "/tunnel/client/add"}, {"GET", "/tunnel/client/"}, {"GET", "/tunnel/client"},
		{"PUT", "/tunnel/client/enable"}, {"PUT", "/tunnel/client/disable"},
		{"DELETE", "/tunnel/client/delete"}, {"POST", "/tunnel/client/links"}, {"POST", "/tunnel/attach"},
		{"GET", "/tunnel/attach"}, {"DELETE", "/tunnel/attach"},
		{"GET", "/bond"}, {"PUT", "/bond"}, {"PATCH", "/bond"}, {"POST", "/bond/switch"}, {"GET", "/classes"},
		{"PUT", "/classes"}, {"GET", "/status"}, {"GET", "/events"}, {"GET", "/metrics"},
	}
}

func TestNewHandler_answersNothingWithoutTheToken(t *testing.T) {
	for _, header := range []string{"", "Bearer", "Bearer ", "Bearer x", "Bearer " + nodetest.Token + "x",
		"Bearer " + nodetest.Token[:len(nodetest.Token)-1], "Basic " + nodetest.Token, nodetest.Token, "Token " + nodetest.Token} {
		i := nodetest.Server(t)
		for _, c := range closed() {
			w := i.Send(c[0], c[1], nil, map[string]string{"Authorization": header})
			if w.Code == http.StatusTooManyRequests { // guesses are slowed down
				require.NotEmpty(t, w.Header().Get("Retry-After"))
				continue
			}
			require.Equal(t, http.StatusUnauthorized, w.Code, "%v %q", c, header)
			require.Contains(t, w.Header().Get("WWW-Authenticate"), "Bearer")
			require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
		}
		require.NoError(t, i.Stop())
	}
	i := nodetest.Server(t)
	for _, c := range closed() {
		w := i.Send(c[0], c[1], nil, map[string]string{"Cookie": "multilink-server-session=" + nodetest.Token})
		require.Equal(t, http.StatusUnauthorized, w.Code, "%v", c)
	}
	for _, open := range []string{"/healthz", "/readyz", "/openapi.json", "/docs/"} {
		require.Equal(t, http.StatusOK, i.Send("GET", open, nil, nil).Code, open)
	}
}

func TestNewHandler_slowsGuessesDown(t *testing.T) {
	i := nodetest.Server(t)
	guess := func() int {
		return i.Send("GET", "/status", nil, map[string]string{"Authorization": "Bearer a wrong one"}).Code
	}
	for range 10 {
		require.Equal(t, http.StatusUnauthorized, guess())
	}
	require.Equal(t, http.StatusTooManyRequests, guess())
}

// asked is a caller with a role for HandlerOptions.Authorize.
type asked struct{ role string }

func (a *asked) authorize(_ *http.Request, role string) error {
	ranks := []string{"reader", "operator", "admin"}
	if slices.Index(ranks, a.role) < slices.Index(ranks, role) {
		return errors.New("the role " + role + " is required")
	}
	return nil
}

func TestHandlerOptions_Authorize_decidesByRole(t *testing.T) {
	caller := &asked{}
	config := nodetest.NewConfig(node.Server, nodetest.NewPlane("wlan0"), storage.NewMemoryDocuments())
	config.REST.Token, config.REST.Authorize = "", caller.authorize
	i := nodetest.Start(t, config)
	for _, c := range []struct{ method, path, role string }{
		{"GET", "/status", "reader"}, {"GET", "/tunnel/client/", "reader"}, {"GET", "/metrics", "reader"},
		{"PUT", "/bond", "operator"}, {"POST", "/interfaces/add", "operator"}, {"PUT", "/tunnel/client/disable", "operator"},
		{"POST", "/tunnel/client/add", "admin"}, {"POST", "/tunnel/client/links", "admin"}, {"PUT", "/tunnel/client/enable", "admin"},
		{"DELETE", "/tunnel/client/delete", "admin"}, {"POST", "/tunnel/attach", "admin"}, {"DELETE", "/tunnel/attach", "admin"},
	} {
		enough := false
		for _, role := range []string{"", "reader", "operator", "admin"} {
			caller.role = role
			enough = enough || role == c.role
			w := i.Send(c.method, c.path, nil, nil)
			require.Equal(t, enough, !strings.Contains(w.Body.String(), "the role "+c.role+" is required"), "%v as %q: %s", c, role, w.Body)
		}
	}
}

func TestHandlerOptions_OpenMetrics_servesMetricsWithoutAToken(t *testing.T) {
	config := nodetest.NewConfig(node.Server, nodetest.NewPlane("wlan0"), storage.NewMemoryDocuments())
	config.REST.OpenMetrics = true
	i := nodetest.Start(t, config)
	i.Do(http.StatusCreated, "POST", "/interfaces/add", `{"name":"wlan0","endpoint":"192.0.2.1:1"}`)
	w := i.Send("GET", "/metrics", nil, nil)
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), `multilink_link_up{link="wlan0"} 0`)
	require.Contains(t, w.Body.String(), "multilink_ready 1")
}

func TestNewHandler_refusesRequestsOfOtherOrigins(t *testing.T) {
	i := nodetest.Server(t)
	for _, foreign := range []map[string]string{
		{"Origin": "https://evil.example"},
		{"Sec-Fetch-Site": "cross-site"},
		{"Sec-Fetch-Site": "same-site"},
		{"Origin": "null"},
	} {
		foreign["Authorization"] = "Bearer " + nodetest.Token
		w := i.Send("PUT", "/bond", `{}`, foreign)
		require.Equal(t, http.StatusForbidden, w.Code, "%v", foreign)
	}
	w := i.Send("GET", "/status", nil, map[string]string{"Authorization": "Bearer " + nodetest.Token,
		"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"})
	require.Equal(t, http.StatusForbidden, w.Code)
	w = i.Send("PUT", "/bond", `{}`, map[string]string{"Authorization": "Bearer " + nodetest.Token,
		"Sec-Fetch-Site": "same-origin", "Origin": "http://example.com"})
	require.Equal(t, http.StatusOK, w.Code, w.Body)
}

func TestHandlerOptions_Certificates_acceptsAVerifiedCertificate(t *testing.T) {
	for _, certificates := range []bool{true, false} {
		config := nodetest.NewConfig(node.Server, nodetest.NewPlane(), storage.NewMemoryDocuments())
		config.REST.Certificates = certificates
		i := nodetest.Start(t, config)
		for _, c := range []struct {
			state *tls.ConnectionState
			want  bool
		}{
			{nil, false},
			{&tls.ConnectionState{PeerCertificates: []*x509.Certificate{{}}}, false},
			{&tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{}}}}, certificates},
		} {
			r := httptest.NewRequest("GET", "/status", nil)
			r.TLS = c.state
			w := httptest.NewRecorder()
			i.Web.ServeHTTP(w, r)
			require.Equal(t, c.want, w.Code == http.StatusOK, w.Body)
		}
		require.NoError(t, i.Stop())
	}
}

func TestNewHandler_namesTheFieldOfABadOption(t *testing.T) {
	n, err := node.Open(t.Context(), nodetest.NewConfig(node.Server, nodetest.NewPlane(), storage.NewMemoryDocuments()).Config)
	require.NoError(t, err)
	for token, want := range map[string]string{
		"":     "rest: HandlerOptions.Token: is required",
		" \n":  "rest: HandlerOptions.Token: is required",
		"hush": "rest: HandlerOptions.Token: the token has 4 characters, and can be guessed",
	} {
		_, err := rest.NewHandler(n, &rest.HandlerOptions{Token: token})
		require.ErrorContains(t, err, want)
	}
	_, err = rest.NewHandler(n, nil)
	require.ErrorContains(t, err, "rest: HandlerOptions.Token: is required")
	_, err = rest.NewHandler(n, &rest.HandlerOptions{Certificates: true})
	require.NoError(t, err)
}

func TestNewHandler_warnsOfAShortToken(t *testing.T) {
	config := nodetest.NewConfig(node.Server, nodetest.NewPlane(), storage.NewMemoryDocuments())
	config.REST.Token = "hushhush\n" // as files and scripts leave it
	i := nodetest.Start(t, config)
	require.Equal(t, http.StatusOK, i.Send("GET", "/status", nil, map[string]string{"Authorization": "Bearer hushhush"}).Code)
	require.Equal(t, http.StatusUnauthorized, i.Send("GET", "/status", nil, map[string]string{"Authorization": "Bearer hushhus"}).Code)
	require.Equal(t, http.StatusUnauthorized, i.Send("GET", "/status", nil, map[string]string{"Authorization": "Bearer "}).Code)
	require.NoError(t, i.Stop())
	require.Contains(t, i.Log.String(), "level=WARN")
	require.Contains(t, i.Log.String(), "THE TOKEN IS TOO SHORT")
	require.NotContains(t, i.Log.String(), "hush")
	i = nodetest.Server(t)
	require.NoError(t, i.Stop())
	require.NotContains(t, i.Log.String(), "TOO SHORT")
}

func TestLoadToken_refusesAnEmptyFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(name, []byte("hush\n"), 0o600))
	got, fresh, err := rest.LoadToken(name)
	require.NoError(t, err)
	require.False(t, fresh)
	require.Equal(t, "hush", got)
	require.NoError(t, os.WriteFile(name, []byte(" \n"), 0o600))
	_, _, err = rest.LoadToken(name)
	require.ErrorContains(t, err, "it is empty")
}
