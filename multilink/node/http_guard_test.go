package node_test

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
	"github.com/iotenablers/enablers/storage"
)

// closed are requests of every kind that are not answered without a token.
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

func TestNode_Handler_answersNothingWithoutTheToken(t *testing.T) {
	for _, header := range []string{"", "Bearer", "Bearer ", "Bearer x", "Bearer " + token + "x",
		"Bearer " + token[:len(token)-1], "Basic " + token, token, "Token " + token} {
		i := server(t)
		for _, c := range closed() {
			w := i.send(c[0], c[1], nil, map[string]string{"Authorization": header})
			if w.Code == http.StatusTooManyRequests { // guesses are slowed down
				require.NotEmpty(t, w.Header().Get("Retry-After"))
				continue
			}
			require.Equal(t, http.StatusUnauthorized, w.Code, "%v %q", c, header)
			require.Contains(t, w.Header().Get("WWW-Authenticate"), "Bearer")
			require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
		}
		require.NoError(t, i.stop())
	}
	i := server(t)
	for _, c := range closed() {
		w := i.send(c[0], c[1], nil, map[string]string{"Cookie": "multilink-server-session=" + token})
		require.Equal(t, http.StatusUnauthorized, w.Code, "%v", c)
	}
	for _, open := range []string{"/healthz", "/readyz", "/openapi.json", "/docs/"} {
		require.Equal(t, http.StatusOK, i.send("GET", open, nil, nil).Code, open)
	}
}

func TestNode_Handler_slowsGuessesDown(t *testing.T) {
	i := server(t)
	guess := func() int {
		return i.send("GET", "/status", nil, map[string]string{"Authorization": "Bearer a wrong one"}).Code
	}
	for range 10 {
		require.Equal(t, http.StatusUnauthorized, guess())
	}
	require.Equal(t, http.StatusTooManyRequests, guess())
}

// asked is a caller with a role for Config.Authorize.
type asked struct{ role string }

func (a *asked) authorize(_ *http.Request, role string) error {
	ranks := []string{"reader", "operator", "admin"}
	if slices.Index(ranks, a.role) < slices.Index(ranks, role) {
		return errors.New("the role " + role + " is required")
	}
	return nil
}

func TestConfig_Authorize_decidesByRole(t *testing.T) {
	caller := &asked{}
	config := configOf(node.Server, newPlane("wlan0"), storage.NewMemoryDocuments())
	config.Token, config.Authorize = "", caller.authorize
	i := start(t, config)
	for _, c := range []struct{ method, path, role string }{
		{"GET", "/status", "reader"}, {"GET", "/tunnel/client/", "reader"}, {"GET", "/metrics", "reader"}, {"GET", "/", "reader"},
		{"PUT", "/bond", "operator"}, {"POST", "/interfaces/add", "operator"}, {"PUT", "/tunnel/client/disable", "operator"},
		{"POST", "/tunnel/client/add", "admin"}, {"POST", "/tunnel/client/links", "admin"}, {"PUT", "/tunnel/client/enable", "admin"},
		{"DELETE", "/tunnel/client/delete", "admin"}, {"POST", "/tunnel/attach", "admin"}, {"DELETE", "/tunnel/attach", "admin"},
	} {
		enough := false
		for _, role := range []string{"", "reader", "operator", "admin"} {
			caller.role = role
			enough = enough || role == c.role
			w := i.send(c.method, c.path, nil, nil)
			require.Equal(t, enough, !strings.Contains(w.Body.String(), "the role "+c.role+" is required"), "%v as %q: %s", c, role, w.Body)
		}
	}
}

func TestConfig_OpenMetrics_servesMetricsWithoutAToken(t *testing.T) {
	config := configOf(node.Server, newPlane("wlan0"), storage.NewMemoryDocuments())
	config.OpenMetrics = true
	i := start(t, config)
	i.do(http.StatusCreated, "POST", "/interfaces/add", `{"name":"wlan0","endpoint":"192.0.2.1:1"}`)
	w := i.send("GET", "/metrics", nil, nil)
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), `multilink_link_up{link="wlan0"} 0`)
	require.Contains(t, w.Body.String(), "multilink_ready 1")
}

func TestNode_Handler_refusesRequestsOfOtherOrigins(t *testing.T) {
	i := server(t)
	for _, foreign := range []map[string]string{
		{"Origin": "https://evil.example"},
		{"Sec-Fetch-Site": "cross-site"},
		{"Sec-Fetch-Site": "same-site"},
		{"Origin": "null"},
	} {
		foreign["Authorization"] = "Bearer " + token
		w := i.send("PUT", "/bond", `{}`, foreign)
		require.Equal(t, http.StatusForbidden, w.Code, "%v", foreign)
	}
	w := i.send("GET", "/status", nil, map[string]string{"Authorization": "Bearer " + token,
		"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"})
	require.Equal(t, http.StatusForbidden, w.Code)
	w = i.send("PUT", "/bond", `{}`, map[string]string{"Authorization": "Bearer " + token,
		"Sec-Fetch-Site": "same-origin", "Origin": "http://example.com"})
	require.Equal(t, http.StatusOK, w.Code, w.Body)
}

func TestConfig_Certificates_acceptsAVerifiedCertificate(t *testing.T) {
	for _, certificates := range []bool{true, false} {
		config := configOf(node.Server, newPlane(), storage.NewMemoryDocuments())
		config.Certificates = certificates
		i := start(t, config)
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
			i.web.ServeHTTP(w, r)
			require.Equal(t, c.want, w.Code == http.StatusOK, w.Body)
		}
		require.NoError(t, i.stop())
	}
}

func TestOpen_namesTheFieldOfABadConfig(t *testing.T) {
	good := func() node.Config { return configOf(node.Server, newPlane(), storage.NewMemoryDocuments()) }
	for want, change := range map[string]func(*node.Config){
		"Role":              func(c *node.Config) { c.Role = "both" },
		"Plane":             func(c *node.Config) { c.Plane = nil },
		"Documents":         func(c *node.Config) { c.Documents = nil },
		"Port.Name":         func(c *node.Config) { c.Port.Name = strings.Repeat("x", 16) },
		"Port.Addresses":    func(c *node.Config) { c.Role = node.Client },
		"Port.Addresses[0]": func(c *node.Config) { c.Port.Addresses[0] = c.Port.Addresses[0].Masked() },
		"Token":             func(c *node.Config) { c.Token = "" },
		"MaxClients":        func(c *node.Config) { c.MaxClients = -1 },
	} {
		config := good()
		change(&config)
		_, err := node.Open(t.Context(), config)
		require.ErrorContains(t, err, "node: Config."+want+":")
	}
	config := good()
	config.Token = " \n"
	_, err := node.Open(t.Context(), config)
	require.ErrorContains(t, err, "node: Config.Token:")
	config.Token = "hush"
	_, err = node.Open(t.Context(), config)
	require.ErrorContains(t, err, "node: Config.Token: the token has 4 characters, and can be guessed")
	config.Token, config.Certificates = "", true
	_, err = node.Open(t.Context(), config)
	require.NoError(t, err)
}

func TestOpen_warnsOfAShortToken(t *testing.T) {
	config := configOf(node.Server, newPlane(), storage.NewMemoryDocuments())
	config.Token = "hushhush\n" // as files and scripts leave it
	i := start(t, config)
	require.Equal(t, http.StatusOK, i.send("GET", "/status", nil, map[string]string{"Authorization": "Bearer hushhush"}).Code)
	require.Equal(t, http.StatusUnauthorized, i.send("GET", "/status", nil, map[string]string{"Authorization": "Bearer hushhus"}).Code)
	require.Equal(t, http.StatusUnauthorized, i.send("GET", "/status", nil, map[string]string{"Authorization": "Bearer "}).Code)
	require.NoError(t, i.stop())
	require.Contains(t, i.log.String(), "level=WARN")
	require.Contains(t, i.log.String(), "THE TOKEN IS TOO SHORT")
	require.NotContains(t, i.log.String(), "hush")
	i = server(t)
	require.NoError(t, i.stop())
	require.NotContains(t, i.log.String(), "TOO SHORT")
}

func TestLoadToken_refusesAnEmptyFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(name, []byte("hush\n"), 0o600))
	got, fresh, err := node.LoadToken(name)
	require.NoError(t, err)
	require.False(t, fresh)
	require.Equal(t, "hush", got)
	require.NoError(t, os.WriteFile(name, []byte(" \n"), 0o600))
	_, _, err = node.LoadToken(name)
	require.ErrorContains(t, err, "it is empty")
}
