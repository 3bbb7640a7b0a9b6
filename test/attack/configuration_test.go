package attack_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// TestConfiguration_everyAnswer_isSafeForBrowsers looks at the header fields and the text of every
// answer, to every caller, of what an attacker can use.
func TestConfiguration_everyAnswer_isSafeForBrowsers(t *testing.T) {
	eachListener(t, func(t *testing.T, p *process, at string) {
		all := operations(t, at)
		for _, path := range pages {
			all = append(all, operation{method: http.MethodGet, path: path, pattern: path, url: at + path})
		}
		for _, o := range all {
			for _, caller := range callers {
				for _, accept := range []string{"*/*", "text/html"} {
					a := send(t, o.method+" "+o.url, p.tokens[caller], "", "Accept: "+accept, "Origin: "+at)
					if fault := p.leak(a); fault != "" {
						t.Errorf("%s as %s: %s: %d %.300q", o, caller, fault, a.status, a.body)
					}
					if fault := unsafe(a); fault != "" {
						t.Errorf("%s as %s: %s: %d %v", o, caller, fault, a.status, a.header)
					}
				}
			}
		}
	})
}

// pages are where a listener may have pages for people.
var pages = []string{"/", "/docs/", "/swagger/", "/.enablers/sign-in", "/live/some", "/admin/", "/sign-in", "/none",
	"/repository/docs/", "/login"}

// internals are what an answer shows of a program that does not handle its errors. Each contains one of
// signs, which are found much faster.
var (
	internals = regexp.MustCompile(`goroutine \d|\.go:\d|runtime error|panic:|nil pointer`)
	signs     = []string{"goroutine ", ".go:", "runtime error", "panic:", "nil pointer"}
)

// leak returns what an answer gives away, empty for nothing.
func (p *process) leak(a answer) string {
	if slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(a.body, sign) }) {
		if at := internals.FindString(a.body); at != "" {
			return "shows " + at
		}
	}
	if strings.Contains(a.body, p.dir) {
		return "shows a folder of the server"
	}
	home, _ := os.UserHomeDir()         // empty without one
	source, _ := filepath.Abs("../../") // of the program
	for _, folder := range []string{home, source} {
		if len(folder) > 1 && strings.Contains(a.body, folder+"/") {
			return "shows a folder of the machine"
		}
	}
	text := a.body + fmt.Sprint(a.header)
	for role, token := range p.tokens {
		if strings.Contains(text, token) {
			return "shows the token of " + string(role)
		}
	}
	for _, name := range []string{"Server", "X-Powered-By"} {
		if a.header.Get(name) != "" {
			return "names the program in " + name
		}
	}
	return ""
}

// unsafe returns what of an answer lets a page elsewhere do what it may not, empty for nothing.
func unsafe(a answer) string {
	if a.header.Get("X-Content-Type-Options") != "nosniff" {
		return "lets a browser guess the type"
	}
	for name := range a.header {
		if strings.HasPrefix(name, "Access-Control-") {
			return "lets pages of other origins read it"
		}
	}
	if !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") || a.status/100 == 3 {
		return ""
	}
	policy := a.header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action "} {
		if !strings.Contains(policy, want) {
			return "is a page whose policy lacks " + want
		}
	}
	if regexp.MustCompile(`script-src [^;]*(unsafe|\*)`).MatchString(policy) {
		return "is a page that runs any script"
	}
	return ""
}

// TestConfiguration_filesOfTheServer_areNotServed asks for what is in data folders and what
// other servers have, as an administrator.
func TestConfiguration_filesOfTheServer_areNotServed(t *testing.T) {
	eachSharedListener(t, func(t *testing.T, p *process, at string) {
		w := newWire(t, at)
		for _, path := range []string{
			"/store.db", "/access-token", "/tokens", "/data/store.db", "/format.json", "/credentials.json", "/encryption-secret",
			"/.git/config", "/.env", "/debug/pprof/", "/debug/pprof/heap", "/debug/vars", "/server-status", "/actuator/env", "/console/",
			"/docs/../../../../etc/passwd", "/docs/..%2f..%2f..%2fetc/passwd", "/docs/%2e%2e/%2e%2e/etc/passwd",
			"/docs/....//....//etc/passwd",
			"/.enablers/page/..%2f..%2faccess-token", "/.enablers/page/%2e%2e%2fsign-in.html", "/.enablers/page/sign-in.html",
			"/.enablers/page/", "/docs/.", "/page/..%2f..%2fstore.db", "/page/", "/console/assets/", "/static/", "/assets/",
			"/docs/%00", "/docs/look.css%00.html", `/docs/..\..\etc\passwd`, "/docs//etc/passwd", "/docs/C:%5cwindows",
		} {
			a := w.ask(http.MethodGet, path, "Authorization: Bearer "+p.tokens[httpapi.Admin])
			require.NotContains(t, a.body, "root:x:", path)
			require.NotContains(t, a.body, "<pre>\n<a href", path+" lists a folder")
			require.NotContains(t, a.body, "heap profile", path)
			if a.status == http.StatusOK && path != "/docs/." {
				require.Contains(t, []string{"/console/"}, path, "%s: %.200q", path, a.body)
			}
			require.Empty(t, p.leak(a), "%s: %.300q", path, a.body)
		}
	})
}

// TestConfiguration_beyondLoopback_isClosed starts every server as it comes on an address that other
// machines reach: it generates a token, and lets no caller in without.
func TestConfiguration_beyondLoopback_isClosed(t *testing.T) {
	everyCommand(t, func(t *testing.T, c command) {
		c.arguments = append([]string(nil), c.arguments...)
		for i, argument := range c.arguments {
			if argument == "127.0.0.1:0" && c.arguments[i-1] != "-mqtt" {
				c.arguments[i] = "0.0.0.0:0"
			}
		}
		p := c.start(t, "-access", "", "-log-level", "info")
		for name, at := range p.at {
			if outsideTheDoor[name] {
				continue
			}
			at = strings.Replace(at, "0.0.0.0", "127.0.0.1", 1)
			for _, o := range operations(t, at) {
				if o.role != httpapi.Public {
					require.Equal(t, http.StatusUnauthorized, send(t, o.method+" "+o.url, "", "").status, "%s at %s", o, name)
				}
			}
		}
	})
}

// TestConfiguration_openServers_giveNoBackup asks an open server for what has its secrets.
func TestConfiguration_openServers_giveNoBackup(t *testing.T) {
	everyCommand(t, func(t *testing.T, c command) {
		p := c.start(t, "-access", "none")
		a := send(t, "GET "+p.anyListener()+"/.enablers/backup", "", "")
		require.Contains(t, []int{http.StatusForbidden, http.StatusNotImplemented}, a.status, a.body)
	})
}
