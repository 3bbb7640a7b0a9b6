package main

import (
	"bytes"
	"crypto/rand"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

// process is a run of the program that may do nothing to the machine.
type process struct {
	*servertest.Program
	address string
}

// tapName is one that no other test uses: two instances of one name do not live together on a machine.
func tapName() string { return "t" + strings.ToLower(rand.Text()[:10]) }

func start(t *testing.T, args ...string) *process {
	t.Helper()
	args = append([]string{"-role", "server", "-listen", "127.0.0.1:0", "-allow", "nothing", "-log-level", "debug",
		"-tap", tapName()}, args...)
	p := &process{Program: servertest.Start(t, run, args...)}
	p.address = p.Listening("")
	return p
}

func ask(t *testing.T, client *http.Client, method, address, token, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	require.NoError(t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(r)
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode, string(text)
}

func TestRun_takesTheTokenOfTheEnvironment(t *testing.T) {
	t.Setenv("MULTILINK_TOKEN", "a token for tests, long enough")
	dir := t.TempDir()
	p := start(t, "-data", dir, "-address", "10.9.0.1/24")
	status, _ := ask(t, http.DefaultClient, "GET", p.address+"/interfaces", "", "")
	require.Equal(t, http.StatusUnauthorized, status)
	status, body := ask(t, http.DefaultClient, "GET", p.address+"/interfaces", "a token for tests, long enough", "")
	require.Equal(t, http.StatusOK, status, body)
	require.NoFileExists(t, filepath.Join(dir, "token"))
	require.NoError(t, p.Stop())
	require.NotContains(t, p.Log.String(), "a token for tests")
}

func TestRun_warnsOfAShortToken(t *testing.T) {
	t.Setenv("MULTILINK_TOKEN", "s3cret-9c")
	p := start(t, "-data", t.TempDir())
	status, body := ask(t, http.DefaultClient, "GET", p.address+"/interfaces", "s3cret-9c", "")
	require.Equal(t, http.StatusOK, status, body)
	require.NoError(t, p.Stop())
	require.Contains(t, p.Log.String(), "THE TOKEN IS TOO SHORT")
	require.NotContains(t, p.Log.String(), "s3cret-9c")
}

func TestRun_warnsOfPlainHTTPBeyondLoopback(t *testing.T) {
	t.Setenv("MULTILINK_TOKEN", "a token for tests, long enough")
	for address, warns := range map[string]bool{"127.0.0.1:0": false, "0.0.0.0:0": true} {
		p := start(t, "-data", t.TempDir(), "-listen", address)
		require.NoError(t, p.Stop())
		require.Equal(t, warns, strings.Contains(p.Log.String(), "in the clear"), address)
	}
}

func TestRun_createsATokenAndDoesNotPrintIt(t *testing.T) {
	t.Setenv("MULTILINK_TOKEN", "")
	dir := filepath.Join(t.TempDir(), "data")
	p := start(t, "-data", dir)
	name := filepath.Join(dir, "token")
	require.Equal(t, "a new token is in "+name, p.Next())
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	token := strings.TrimSpace(string(data))
	status, _ := ask(t, http.DefaultClient, "GET", p.address+"/status", token, "")
	require.Equal(t, http.StatusOK, status)
	require.NoError(t, p.Stop())
	require.NotContains(t, p.Log.String(), token)
	require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s has mode %v", path, info.Mode())
		return nil
	}))
	p = start(t, "-data", dir)
	status, _ = ask(t, http.DefaultClient, "GET", p.address+"/status", token, "")
	require.Equal(t, http.StatusOK, status, "the next start finds it")
	_, page := ask(t, http.DefaultClient, "GET", p.address+"/.enablers/sign-in", "", "")
	require.Contains(t, page, "The one in the file token of the data folder.")
	require.NoError(t, p.Stop())
}

func TestSettings_tokens_readsTheFileAgain(t *testing.T) {
	t.Setenv("MULTILINK_TOKEN", "")
	name := filepath.Join(t.TempDir(), "token")
	s, err := readSettings([]string{"-role", "server", "-token-file", name})
	require.NoError(t, err)
	tokens, _, fresh, err := s.tokens(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Equal(t, name, fresh)
	door, err := access.New(access.Config{Name: "multilink", Tokens: tokens})
	require.NoError(t, err)
	const next = "another token of 16 characters"
	admits := func() bool {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer "+next)
		return door.Authorize(r, "admin") == nil
	}
	require.NoError(t, os.WriteFile(name, []byte(next+"\n"), 0o600))
	require.False(t, admits())
	require.NoError(t, tokens[0].Reload(t.Context()))
	require.True(t, admits())
	require.NoError(t, os.WriteFile(name, []byte("hush\n"), 0o600))
	require.ErrorContains(t, tokens[0].Reload(t.Context()), "can be guessed")
}

func TestRun_namesAMissingRight(t *testing.T) {
	t.Setenv("MULTILINK_TOKEN", "a token for tests, long enough")
	p := start(t, "-data", t.TempDir(), "-address", "10.9.0.1/24")
	status, body := ask(t, http.DefaultClient, "POST", p.address+"/tunnel/client/add", "a token for tests, long enough", `{}`)
	require.Equal(t, http.StatusForbidden, status, body)
	require.Contains(t, body, "allowed operations")
	status, body = ask(t, http.DefaultClient, "GET", p.address+"/readyz", "", "")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "the settings exclude")
	require.NoError(t, p.Stop())
}

func TestRun_acceptsAClientCertificate(t *testing.T) {
	t.Setenv("MULTILINK_TOKEN", "")
	authority, foreign := servertest.NewAuthority(t), servertest.NewAuthority(t)
	own := authority.Issue("server")
	dir := filepath.Join(t.TempDir(), "data")
	p := start(t, "-data", dir, "-tls-cert", own.Cert, "-tls-key", own.Key, "-client-ca", authority.File)
	require.True(t, strings.HasPrefix(p.address, "https://"), p.address)
	attach := func(client *http.Client) int {
		status, _ := ask(t, client, "DELETE", p.address+"/tunnel/client/delete?public_key=none", "", "")
		return status
	}
	status, body := ask(t, authority.Client(authority.Issue("mine")), "GET", p.address+"/status", "", "")
	require.Equal(t, http.StatusOK, status, body)
	require.Equal(t, http.StatusBadRequest, attach(authority.Client(authority.Issue("mine"))), "a certificate lets do everything")
	require.Equal(t, http.StatusForbidden, attach(authority.Client(authority.Issue("mine", "reader"))), "unless it has another role")
	status, _ = ask(t, authority.Client(), "GET", p.address+"/status", "", "")
	require.Equal(t, http.StatusUnauthorized, status)
	status, _ = ask(t, authority.Client(), "GET", p.address+"/healthz", "", "")
	require.Equal(t, http.StatusOK, status)
	r, err := http.NewRequestWithContext(t.Context(), "GET", p.address+"/status", nil)
	require.NoError(t, err)
	answer, err := authority.Client(foreign.Issue("eve")).Do(r)
	if err == nil {
		_ = answer.Body.Close()
	}
	require.ErrorContains(t, err, "unknown certificate authority")
	require.NoFileExists(t, filepath.Join(dir, "token"))
	require.NoError(t, p.Stop())
}

func TestRun_acceptsTokensWithRolesBesidesItsOwn(t *testing.T) {
	t.Setenv("MULTILINK_TOKEN", "a token for tests, long enough")
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte("anna reader anna-and-16-characters\nboris operator boris-and-16-characters\n"), 0o600))
	p := start(t, "-data", t.TempDir(), "-access-tokens", file)
	for token, want := range map[string][3]int{
		"anna-and-16-characters":         {http.StatusOK, http.StatusForbidden, http.StatusForbidden},
		"boris-and-16-characters":        {http.StatusOK, http.StatusBadRequest, http.StatusForbidden},
		"a token for tests, long enough": {http.StatusOK, http.StatusBadRequest, http.StatusBadRequest},
		"":                               {http.StatusUnauthorized, http.StatusUnauthorized, http.StatusUnauthorized},
	} {
		for at, request := range [][2]string{{"GET", "/status"}, {"PUT", "/tunnel/client/disable"}, {"PUT", "/tunnel/client/enable"}} {
			status, body := ask(t, http.DefaultClient, request[0], p.address+request[1], token, "{}")
			require.Equal(t, want[at], status, "%q %v: %s", token, request, body)
		}
	}
	require.NoError(t, p.Stop())
}

func TestRun_opensWithAccessNone(t *testing.T) {
	t.Setenv("MULTILINK_TOKEN", "")
	dir := t.TempDir()
	p := start(t, "-data", dir, "-access", "none", "-listen", "0.0.0.0:0")
	status, body := ask(t, http.DefaultClient, "GET", strings.Replace(p.address, "0.0.0.0", "127.0.0.1", 1)+"/status", "", "")
	require.Equal(t, http.StatusOK, status, body)
	require.NoError(t, p.Stop())
	require.Contains(t, p.Log.String(), "ACCESS IS OPEN")
	require.NoFileExists(t, filepath.Join(dir, "token"))
}

func TestRun_refusesATokenThatCanBeGuessed(t *testing.T) {
	t.Setenv("MULTILINK_TOKEN", "x")
	args := []string{"-role", "server", "-listen", "127.0.0.1:0", "-data", t.TempDir(), "-allow", "nothing"}
	err := run(t.Context(), args, io.Discard, io.Discard)
	require.ErrorContains(t, err, "-token (MULTILINK_TOKEN): the token has 1 characters, and can be guessed: use 16 or more")
}

func TestRun_namesABadFlagAndHidesItsValue(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "-role (MULTILINK_ROLE): expected server or client"},
		{[]string{"-role", "client", "-address", "10.0.0.1/8"}, "-address (MULTILINK_ADDRESS): a client"},
		{[]string{"-role", "server", "-address", "10.0.0.1"}, "-address (MULTILINK_ADDRESS): expected an address"},
		{[]string{"-role", "server", "-routes", "x"}, "-routes (MULTILINK_ROUTES): expected a prefix"},
		{[]string{"-role", "server", "-routes", "10.0.0.0/8=x"}, "-routes (MULTILINK_ROUTES): expected the address"},
		{[]string{"-role", "server", "-bridge-members", "eth0"}, "-bridge-members (MULTILINK_BRIDGE_MEMBERS): requires -bridge"},
		{[]string{"-role", "server", "-token", "secret", "-token-file", "x"},
			"-token-file (MULTILINK_TOKEN_FILE): the token is given already"},
		{[]string{"-role", "server", "-tls-cert", "x"}, "-tls-cert, -tls-key: one needs the other"},
		{[]string{"-role", "server", "-client-ca", "x"}, "-tls-client-ca: needs -tls-cert and -tls-key"},
		{[]string{"-role", "server", "-client-ca", "x", "-tls-client-ca", "y"},
			"-client-ca (MULTILINK_CLIENT_CA): is another file than that of -tls-client-ca"},
		{[]string{"-role", "server", "-access", "none", "-token", "secret"},
			"-access (MULTILINK_ACCESS): none cannot be given together with -token"},
		{[]string{"-role", "server", "-plane", "x"}, "-plane (MULTILINK_PLANE): expected engine or kernel"},
	} {
		_, err := readSettings(c.args)
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "secret")
	}
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	err = run(t.Context(), []string{"-role", "server", "-listen", taken.Addr().String(), "-data", t.TempDir()}, io.Discard, io.Discard)
	require.ErrorContains(t, err, "the port is taken")
	err = run(t.Context(), []string{"-role", "server", "-listen", "127.0.0.1:0", "-data", t.TempDir(), "-allow", "x",
		"-token", "sixteen characters"}, io.Discard, io.Discard)
	require.ErrorContains(t, err, `got "x"`)
}

func TestRun_helpNamesEveryFlag(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-h"}, &out, io.Discard))
	for _, name := range []string{"-role", "-listen", "-data", "-tap", "-address", "-interfaces", "-allow", "-bridge",
		"-token-file", "-client-ca", "-config", "-log-level", "MULTILINK_TOKEN"} {
		require.Contains(t, out.String(), name)
	}
}

func TestRun_servesThePagesInTheShell(t *testing.T) {
	t.Setenv("MULTILINK_TOKEN", "")
	p := start(t, "-data", t.TempDir(), "-access", "none")
	for _, path := range []string{"/", "/ui/", "/ui/links/", "/ui/links/new"} {
		status, page := ask(t, http.DefaultClient, "GET", p.address+path, "", "")
		require.Equal(t, http.StatusOK, status, page)
		require.Contains(t, page, `<a href="/ui/links/" aria-current="true">Links</a>`, path)
	}
	status, body := ask(t, http.DefaultClient, "GET", p.address+"/ui/links/api/status", "", "")
	require.Equal(t, http.StatusOK, status, body)
	require.NoError(t, p.Stop())
}

func TestRun_demonstratesUntilInterrupted(t *testing.T) {
	p := servertest.Start(t, run, "-demo", "-listen", "127.0.0.1:0", "-tls-cert", "unused") // -demo takes only -listen
	address := p.Listening("")
	p.Await("sign in with the token")
	p.Await("connected; the client sends a packet")
	status, _ := ask(t, http.DefaultClient, "GET", address+"/status", "", "")
	require.Equal(t, http.StatusUnauthorized, status)
	p.Interrupt()
	require.Contains(t, p.Await("ended"), "ended")
	require.NoError(t, p.Stop())
}

func TestRun_refusesRequestsOfOtherOrigins(t *testing.T) {
	p := start(t, "-data", t.TempDir(), "-address", "10.9.0.1/24", "-hosts", "link.example.org")
	httpapitest.CheckServer(t, p.address, "/healthz", "link.example.org")
}

func TestRun_printsTheVersion(t *testing.T) { servertest.CheckVersion(t, "multilink", run) }

func TestRun_endsWithStatusTwoForAWrongSetting(t *testing.T) {
	servertest.CheckUsage(t, run, []string{"-listen", "127.0.0.1:0", "-data", t.TempDir()})
}
