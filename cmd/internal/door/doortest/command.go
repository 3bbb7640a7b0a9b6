// Package doortest checks that a command has the door: its defaults, its flags, and what
// they do at its listeners.
package doortest

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

// Command is a command with the door.
type Command struct {
	// Run is the command.
	Run servertest.Run
	// Args starts it over a folder with all listeners of the door at the host, each at
	// any port that is free.
	Args func(host, folder string) []string
	// Listener is the name of the listener that the requests are for, in parentheses
	// behind its URL. Empty means the first.
	Listener string
	// Read and Change are requests that the roles reader and operator may send, as
	// "METHOD PATH". Change may fail, but for another reason than access.
	Read, Change string
	// Others are further requests of the same kinds, such as those of another handler.
	Others []Requests
	// OwnAccess says that Change requires credentials of its own where the door is open.
	OwnAccess bool
	// NoFolder says that the command stores nothing, and so no token.
	NoFolder bool
}

// Requests are as those of [Command].
type Requests struct{ Read, Change string }

// Check runs the checks.
func (c Command) Check(t *testing.T) {
	t.Run("on loopback it is open", c.checkLoopback)
	t.Run("beyond loopback it generates a token once", c.checkGenerated)
	t.Run("-access none opens it and says so", c.checkNone)
	t.Run("-access-tokens has roles and is read again", c.checkTokens)
	t.Run("-access-issuer takes the role of a claim", c.checkIssuer)
	t.Run("-tls-client-ca takes the role of a certificate", c.checkCertificates)
	t.Run("-tls-cert is read again", c.checkRenewal)
}

// process is a command that runs.
type process struct {
	*servertest.Program

	t      *testing.T
	at     string // the URL of the listener
	client *http.Client
}

// start starts the command and waits until it listens.
func (c Command) start(t *testing.T, host, folder string, args ...string) *process {
	t.Helper()
	p := &process{t: t, Program: servertest.Start(t, c.Run, append(c.Args(host, folder), args...)...),
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	t.Cleanup(p.stop)
	for {
		at, name, _ := strings.Cut(strings.TrimPrefix(p.Await("listening on http"), "listening on "), " ")
		if c.Listener == "" || name == "("+c.Listener+")" {
			p.at = server.Reachable(strings.TrimSuffix(at, "/"))
			return p
		}
	}
}

// stop ends the command, which has no error.
func (p *process) stop() { require.NoError(p.t, p.Stop()) }

// send sends a request, "METHOD PATH", and returns status and text of the answer.
func (p *process) send(request, token string, header map[string]string) (int, string) {
	p.t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.at+path, nil)
	require.NoError(p.t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	if host := header["Host"]; host != "" {
		r.Host = host
	}
	answer, err := p.client.Do(r)
	require.NoError(p.t, err)
	defer func() { _ = answer.Body.Close() }() // it was only read
	text, err := io.ReadAll(answer.Body)
	require.NoError(p.t, err)
	if answer.StatusCode == http.StatusUnauthorized {
		require.Contains(p.t, answer.Header.Get("WWW-Authenticate"), "Bearer")
	}
	return answer.StatusCode, string(text)
}

// allows checks which of the requests the token may send.
func (p *process) allows(c Command, token string, read, change bool) {
	p.t.Helper()
	for _, both := range append([]Requests{{c.Read, c.Change}}, c.Others...) {
		for request, may := range map[string]bool{both.Read: read, both.Change: change} {
			status, text := p.send(request, token, nil)
			refused := status == http.StatusUnauthorized || status == http.StatusForbidden
			require.Equal(p.t, !may, refused, "%s: %d %s", request, status, text)
			if request == both.Read && may {
				require.Equal(p.t, http.StatusOK, status, "%s: %s", request, text)
			}
			if status == http.StatusForbidden {
				require.Contains(p.t, text, "operator", "the answer names the role")
			}
		}
	}
}

// guarded checks that foreign names and pages are refused, whatever the token.
func (p *process) guarded(c Command, token string) {
	p.t.Helper()
	status, text := p.send(c.Read, token, map[string]string{"Host": "evil.example"})
	require.Equal(p.t, http.StatusMisdirectedRequest, status, text)
	status, text = p.send(c.Change, token, map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"})
	require.Equal(p.t, http.StatusForbidden, status, text)
	require.Contains(p.t, text, "-hosts")
}

func (c Command) checkLoopback(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	p := c.start(t, "127.0.0.1", folder)
	p.allows(c, "", true, !c.OwnAccess)
	p.guarded(c, "")
	p.stop()
	require.NotContains(t, p.Out.String(), "access token")
	require.NoFileExists(t, filepath.Join(folder, "access-token"))
}

func (c Command) checkGenerated(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	p := c.start(t, "0.0.0.0", folder)
	var found []string
	require.Eventually(t, func() bool {
		found = regexp.MustCompile(`(?m)^a new access token is (in|valid until the server ends:) (.+)\nsign in at (\S+),`).
			FindStringSubmatch(p.Out.String())
		return found != nil
	}, time.Minute, 2*time.Millisecond)
	token, page := found[2], found[3]
	name := filepath.Join(folder, "access-token")
	require.Equal(t, c.NoFolder, found[1] != "in", "a token of a file is not printed")
	if !c.NoFolder {
		require.Equal(t, name, found[2])
		kept, err := os.ReadFile(name)
		require.NoError(t, err)
		token = strings.TrimSpace(string(kept))
	}
	require.True(t, strings.HasPrefix(page, "http://127.0.0.1:"), page)
	p.allows(c, "", false, false)
	p.allows(c, "a wrong token, long enough", false, false)
	p.allows(c, token, true, true)
	p.guarded(c, token)
	p.stop()
	require.NotContains(t, p.Log.String(), token)
	require.Contains(t, p.Log.String(), "in the clear")
	if c.NoFolder {
		return
	}
	require.NotContains(t, p.Out.String(), token)
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077)

	again := c.start(t, "0.0.0.0", folder)
	again.allows(c, "", false, false)
	again.allows(c, token, true, true)
	again.stop()
	require.NotContains(t, again.Out.String(), "access token", "its file is named once")
	require.NotContains(t, again.Out.String()+again.Log.String(), token)
}

func (c Command) checkNone(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	p := c.start(t, "0.0.0.0", folder, "-access", "none")
	p.allows(c, "", true, !c.OwnAccess)
	p.allows(c, "any", true, !c.OwnAccess)
	p.stop()
	require.Contains(t, p.Log.String(), "level=WARN")
	require.Contains(t, p.Log.String(), "ACCESS IS OPEN")
	require.NoFileExists(t, filepath.Join(folder, "access-token"))
}

func (c Command) checkTokens(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "tokens")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("anna reader anna-and-16-characters\nboris operator boris-and-16-characters\nchloe admin chloe-and-16-characters\n")
	p := c.start(t, "127.0.0.1", filepath.Join(dir, "data"), "-access-tokens", file)
	p.allows(c, "", false, false)
	p.allows(c, "anna-and-16-characters", true, false)
	p.allows(c, "boris-and-16-characters", true, true)
	p.allows(c, "chloe-and-16-characters", true, true)
	p.guarded(c, "chloe-and-16-characters")
	write("anna operator another-one-of-16-characters\n")
	require.Eventually(t, func() bool {
		status, _ := p.send(c.Read, "another-one-of-16-characters", nil)
		return status == http.StatusOK
	}, time.Minute, 20*time.Millisecond)
	p.allows(c, "another-one-of-16-characters", true, true)
	p.allows(c, "chloe-and-16-characters", false, false)
	p.stop()
	require.NotContains(t, p.Out.String()+p.Log.String(), "-16-characters")
	require.NoFileExists(t, filepath.Join(dir, "data", "access-token"))
}

func (c Command) checkIssuer(t *testing.T) {
	tokens := issue(t)
	p := c.start(t, "127.0.0.1", filepath.Join(t.TempDir(), "data"),
		"-access", "oidc", "-access-issuer", tokens.issuer, "-access-audience", "account")
	p.allows(c, "", false, false)
	p.allows(c, tokens.of("anna"), true, false)
	p.allows(c, tokens.of("boris"), true, true)
	status, text := p.send(c.Read, tokens.of("dora"), nil)
	require.Equal(t, http.StatusForbidden, status, text)
	p.stop()
}

func (c Command) checkCertificates(t *testing.T) {
	authority, foreign := servertest.NewAuthority(t), servertest.NewAuthority(t)
	own := authority.Issue("server")
	p := c.start(t, "127.0.0.1", filepath.Join(t.TempDir(), "data"),
		"-tls-cert", own.Cert, "-tls-key", own.Key, "-tls-client-ca", authority.File)
	require.True(t, strings.HasPrefix(p.at, "https://"), p.at)
	p.client = authority.Client()
	p.allows(c, "", false, false)
	p.client = authority.Client(authority.Issue("anna"))
	p.allows(c, "", true, false)
	p.guarded(c, "")
	p.client = authority.Client(authority.Issue("boris", "sales", "operator"))
	p.allows(c, "", true, true)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.at+"/", nil)
	require.NoError(t, err)
	answer, err := authority.Client(foreign.Issue("eve", "admin")).Do(r)
	if err == nil {
		_ = answer.Body.Close()
	}
	require.Error(t, err)
	p.stop()
}

func (c Command) checkRenewal(t *testing.T) {
	authority := servertest.NewAuthority(t)
	own := authority.Issue("server")
	p := c.start(t, "127.0.0.1", filepath.Join(t.TempDir(), "data"), "-tls-cert", own.Cert, "-tls-key", own.Key)
	require.True(t, strings.HasPrefix(p.at, "https://"), p.at)
	p.client = authority.Client()
	p.allows(c, "", true, !c.OwnAccess)
	p.guarded(c, "")
	presents := func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.at+"/", nil)
		require.NoError(t, err)
		answer, err := p.client.Transport.RoundTrip(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.TLS.PeerCertificates[0].SerialNumber.Cmp(own.Serial) == 0
	}
	require.True(t, presents())
	authority.Renew(own, "server")
	require.Eventually(t, presents, time.Minute, 20*time.Millisecond)
	p.stop()
}
