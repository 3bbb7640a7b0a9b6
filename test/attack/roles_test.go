package attack_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// callers are those of the table: without a token, and with one of each role.
var callers = []httpapi.Role{httpapi.Public, httpapi.Reader, httpapi.Operator, httpapi.Admin}

// refusedByTheServer are operations that answer 403 for a reason of their own, although
// the role is enough.
var refusedByTheServer = map[string]string{
	"POST /.enablers/sign-in": "the form has no token",
}

// undocumented are routes that no OpenAPI document has, as "METHOD PATH" by commands with one
// listener, with their roles.
var undocumented = map[string]map[string]httpapi.Role{
	"modelrepo": {
		"GET /page.css":                httpapi.Public,
		"GET /.enablers/page/look.css": httpapi.Public,
		"HEAD /some":                   httpapi.Reader,
		"HEAD /some/some/some/content": httpapi.Reader,
		"HEAD /metrics":                httpapi.Reader,
		"HEAD /.enablers/backup":       httpapi.Admin,
		"HEAD /healthz":                httpapi.Public,
	},
	"annotator": {"HEAD /channels": httpapi.Reader, "HEAD /metrics": httpapi.Reader, "HEAD /.enablers/backup": httpapi.Admin},
	"flcollector": {
		"GET /": httpapi.Reader, "GET /live/some": httpapi.Reader, "GET /page/look.css": httpapi.Public, "HEAD /jobs": httpapi.Reader,
		"HEAD /job/stop": httpapi.Operator,
	},
	"multilink": {"GET /": httpapi.Reader, "GET /tunnel/client": httpapi.Reader, "HEAD /interfaces": httpapi.Reader},
}

// TestRoles_everyRoute_requiresItsRole sends every operation of every OpenAPI document, and
// the routes beside them, without a token and with those of all roles.
func TestRoles_everyRoute_requiresItsRole(t *testing.T) {
	eachListener(t, func(t *testing.T, p *process, at string) {
		all := operations(t, at)
		require.NotEmpty(t, all, "the listener serves no OpenAPI document")
		for request, role := range undocumented[p.name] {
			method, path, _ := strings.Cut(request, " ")
			all = append(all, operation{method: method, path: path, pattern: path, url: at + path, role: role})
		}
		for _, o := range all {
			for _, caller := range callers {
				a := send(t, o.method+" "+o.url, p.tokens[caller], "")
				if fault := o.fault(caller, a); fault != "" {
					t.Errorf("%s as %s: %s, got %d %v %.200q", o, caller, fault, a.status, a.header["Www-Authenticate"], a.body)
				}
			}
		}
	})
}

// fault returns what is wrong with the answer that a caller gets, empty for nothing.
func (o operation) fault(caller httpapi.Role, a answer) string {
	challenge := a.header.Get("WWW-Authenticate")
	switch {
	case o.role == "":
		return "the document gives no x-role"
	case caller.Includes(o.role):
		if a.status == http.StatusUnauthorized || challenge != "" {
			return "expected to be accepted"
		}
		if a.status == http.StatusForbidden && refusedByTheServer[o.String()] == "" {
			return "expected to be accepted"
		}
	case caller == httpapi.Public:
		if a.status != http.StatusUnauthorized || !strings.HasPrefix(challenge, "Bearer ") {
			return "expected 401 with WWW-Authenticate: Bearer"
		}
	default:
		if a.status != http.StatusForbidden || !strings.Contains(challenge, fmt.Sprintf(`error="insufficient_scope", scope=%q`, o.role)) {
			return "expected 403 with the role in WWW-Authenticate"
		}
		if o.method != http.MethodHead && !strings.Contains(a.body, "role "+string(o.role)+" is required") {
			return "expected 403 with the role in the body"
		}
	}
	return ""
}

// exceptions are the operations with a lower role than their method says: reading for readers,
// and everything else for operators; and those that only look as if they read. It is an
// inventory: whatever is added here has to be looked at.
var exceptions = map[string]httpapi.Role{
	"GET /.enablers/backup":   httpapi.Admin,
	"POST /.enablers/sign-in": httpapi.Public, "POST /.enablers/sign-out": httpapi.Public,
	"GET /job/stop": httpapi.Operator, // which changes something, as the contract has it
}

// public are the paths that every caller may read, on every listener.
var public = []string{
	"/healthz", "/readyz", "/openapi.json", "/docs", "/docs/", "/swagger", "/swagger/",
	"/.enablers/sign-in", "/.enablers/sign-on", "/.enablers/signed-on", "/.enablers/openapi.json",
	"/repository/healthz", "/repository/readyz", "/repository/openapi.json", "/repository/docs", "/repository/docs/",
}

// TestRoles_everyRoute_hasTheRoleOfItsMethod looks for an operation that was given a lower role than
// its method has.
func TestRoles_everyRoute_hasTheRoleOfItsMethod(t *testing.T) {
	open := map[string]bool{}
	for _, path := range public {
		open["GET "+path] = true
	}
	eachSharedListener(t, func(t *testing.T, p *process, at string) {
		for _, o := range operations(t, at) {
			least := httpapi.Operator
			switch o.method {
			case http.MethodGet, http.MethodHead, http.MethodOptions:
				least = httpapi.Reader
			}
			switch role, ok := exceptions[o.String()]; {
			case ok:
				least = role
			case open[o.String()]:
				least = httpapi.Public
			case p.isGatewayAdmin(at) && !strings.HasPrefix(o.path, "/.enablers/") && o.path != "/metrics":
				least = httpapi.Admin
			}
			require.True(t, o.role.Includes(least), "%s is for %s, expected %s or more", o, o.role, least)
		}
	})
}

// isGatewayAdmin reports whether the address is that of the gateway's admin API, which
// shows and changes secrets of consumers and plugins.
func (p *process) isGatewayAdmin(at string) bool {
	return at != "" && (at == p.at["admin"] || at == p.at["gateway admin"])
}
