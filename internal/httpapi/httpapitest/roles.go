package httpapitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// Roles returns the roles that callers can have, each of which includes those before it.
func Roles() []string {
	var names []string
	for _, role := range httpapi.Roles() {
		names = append(names, string(role))
	}
	return names
}

// Authorize is an Authorize function for handler options, for tests. The bearer token of a caller is
// its role; one without a token gets status 401, and one whose role is not enough 403.
func Authorize(r *http.Request, role string) error {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	has, needs := slices.Index(Roles(), token), slices.Index(Roles(), role)
	switch {
	case needs < 0:
		panic(fmt.Sprintf("httpapitest: a route requires the role %q", role))
	case has < 0:
		return denial{http.StatusUnauthorized, "this needs a token"}
	case has < needs:
		return denial{http.StatusForbidden, "the role " + role + " is required"}
	}
	return nil
}

// denial is an error of Authorize.
type denial struct {
	status int
	text   string
}

func (d denial) Error() string   { return d.text }
func (d denial) HTTPStatus() int { return d.status }

// Access checks that every route of a server requires its role: all operations of its
// OpenAPI documents, with "some" for each parameter, and the undocumented routes that it
// is given. GET operations are also sent as HEAD.
type Access struct {
	// At is the URL of the server. Empty means one over Handler.
	At string
	// Handler is the handler with [Authorize] in its options.
	Handler http.Handler
	// Tokens are bearer tokens by their roles, those of [Roles]. Nil means those of
	// [Authorize].
	Tokens map[string]string
	// Documents are the OpenAPI documents by their paths, each with what stands before
	// the paths in it. Nil means {"/openapi.json": ""}.
	Documents map[string]string
	// Undocumented are requests of further routes, as "METHOD PATH", with their roles,
	// "public" among them.
	Undocumented map[string]string
	// Leave are operations that are not sent with enough rights, as "METHOD PATH" with
	// the parameters of the document: those that would end the server, or never answer.
	Leave []string
}

// Check runs the checks: a request without credentials gets status 401 with a
// challenge, one with too little 403 with the name of the role that is required, and one
// with enough neither. Public routes answer every caller.
func (a Access) Check(t *testing.T) {
	t.Helper()
	if a.At == "" {
		server := httptest.NewServer(a.Handler)
		t.Cleanup(server.Close)
		a.At = server.URL
	}
	if a.Tokens == nil {
		a.Tokens = map[string]string{}
		for _, role := range Roles() {
			a.Tokens[role] = role
		}
	}
	if a.Documents == nil {
		a.Documents = map[string]string{"/openapi.json": ""}
	}
	wanted := maps.Clone(a.Undocumented)
	if wanted == nil {
		wanted = map[string]string{}
	}
	for document, before := range a.Documents {
		maps.Copy(wanted, declaredRoles(t, a.At+document, before))
	}
	for _, request := range slices.Sorted(maps.Keys(wanted)) {
		t.Run(request, func(t *testing.T) { a.check(t, request, wanted[request]) })
	}
}

// parameter is a parameter in a path of an OpenAPI document.
var parameter = regexp.MustCompile(`\{[^}]*\}`)

// declaredRoles returns the operations of an OpenAPI document with their roles.
func declaredRoles(t *testing.T, document, before string) map[string]string {
	t.Helper()
	answer, body := call(t, document, "GET ", "")
	require.Equal(t, http.StatusOK, answer.StatusCode, "%s: %s", document, body)
	var parsed struct {
		Paths map[string]map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(body), &parsed))
	roles := map[string]string{}
	for path, item := range parsed.Paths {
		for _, method := range []string{"get", "head", "post", "put", "patch", "delete", "options"} {
			text, ok := item[method]
			if !ok {
				continue
			}
			var operation struct {
				Role string `json:"x-role"`
			}
			require.NoError(t, json.Unmarshal(text, &operation))
			require.Contains(t, append(Roles(), "public"), operation.Role, "%s %s says with x-role which role it requires", method, path)
			roles[strings.ToUpper(method)+" "+before+path] = operation.Role
			if method == "get" {
				roles["HEAD "+before+path] = operation.Role
			}
		}
	}
	require.NotEmpty(t, roles)
	return roles
}

// check checks one request.
func (a Access) check(t *testing.T, request, role string) {
	t.Helper()
	at := parameter.ReplaceAllString(request, "some")
	if role == "public" {
		answer, body := call(t, a.At, at, "")
		require.NotContains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, answer.StatusCode, body)
		return
	}
	answer, body := call(t, a.At, at, "")
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode, "without credentials: %s", body)
	require.NotEmpty(t, answer.Header.Get("WWW-Authenticate"), "the answer says which credentials there are")
	needs := slices.Index(Roles(), role)
	for has, name := range Roles() {
		if has >= needs && slices.Contains(a.Leave, request) {
			continue
		}
		answer, body := call(t, a.At, at, a.Tokens[name])
		if has >= needs {
			require.NotContains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, answer.StatusCode, "as %s: %s", name, body)
			continue
		}
		require.Equal(t, http.StatusForbidden, answer.StatusCode, "as %s: %s", name, body)
		if !strings.HasPrefix(request, http.MethodHead) {
			require.Contains(t, body, role, "the answer to %s names the role that is required", name)
		}
	}
}

// call sends a request with a token, and returns the answer and its text.
func call(t *testing.T, at, request, token string) (*http.Response, string) {
	t.Helper()
	header := map[string]string{}
	if token != "" {
		header["Authorization"] = "Bearer " + token
	}
	return exchange(t, at, request, header)
}
