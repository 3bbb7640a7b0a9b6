package httpapi_test

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
)

func TestRole_Includes_ordersTheRoles(t *testing.T) {
	order := []httpapi.Role{httpapi.Public, httpapi.Reader, httpapi.Operator, httpapi.Admin}
	for i, one := range order {
		for j, other := range order {
			require.Equal(t, i >= j, one.Includes(other), "%s and %s", one, other)
		}
		require.False(t, one.Includes("owner"))
		require.False(t, httpapi.Role("owner").Includes(one))
		require.Equal(t, i > 0, httpapi.IsRole(string(one)))
	}
	require.False(t, httpapi.IsRole(""))
	require.Equal(t, order[1:], httpapi.Roles())
}

func TestRoles_areDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/access.md")
	require.NoError(t, err)
	for _, role := range httpapi.Roles() {
		require.Contains(t, string(text), "| `"+string(role)+"` |", "a row of the table of roles in docs/access.md")
	}
}

type denial struct{}

func (denial) Error() string   { return "come back with a badge" }
func (denial) HTTPStatus() int { return http.StatusUnauthorized }

func TestNewHandler_requiresTheRoleOfARoute(t *testing.T) {
	var wanted []string
	var refusal error
	ok := func(w http.ResponseWriter, _ *http.Request) error { return httpapi.WriteJSON(w, true) }
	h := httpapi.NewHandler([]httpapi.Route{
		{Pattern: "GET /thing", Func: ok}, {Pattern: "POST /thing", Func: ok},
		{Pattern: "GET /secret", Func: ok, Role: httpapi.Admin}, {Pattern: "POST /login", Func: ok, Role: httpapi.Public},
	}, &httpapi.Options{Authorize: func(_ *http.Request, role string) error {
		wanted = append(wanted, role)
		return refusal
	}})
	for _, path := range []string{"GET /thing", "HEAD /thing", "GET /thing/", "POST /thing", "GET /secret", "POST /login"} {
		method, at, _ := strings.Cut(path, " ")
		require.Equal(t, http.StatusOK, serve(h, method, at, "", "").Code, path)
	}
	require.Equal(t, []string{"reader", "reader", "reader", "operator", "admin"}, wanted)

	refusal = errors.New("not on Sundays")
	answer := serve(h, "GET", "/thing", "", "")
	require.Equal(t, http.StatusForbidden, answer.Code)
	require.Contains(t, answer.Body.String(), "not on Sundays")
	require.Equal(t, http.StatusOK, serve(h, "POST", "/login", "", "").Code)
	require.Equal(t, http.StatusNotFound, serve(h, "GET", "/nothing", "", "").Code)

	refusal = denial{}
	answer = serve(h, "GET", "/thing", "", "")
	require.Equal(t, http.StatusUnauthorized, answer.Code)
	require.Equal(t, "Bearer", answer.Header().Get("WWW-Authenticate"))

	refusal = &httpapi.Error{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"7"}}}
	answer = serve(h, "GET", "/thing", "", "")
	require.Equal(t, http.StatusTooManyRequests, answer.Code)
	require.Equal(t, "7", answer.Header().Get("Retry-After"))

	refusal = &httpapi.Error{Status: http.StatusSeeOther, Header: http.Header{"Location": {"/sign-in"}}}
	answer = serve(h, "GET", "/thing", "", "")
	require.Equal(t, http.StatusSeeOther, answer.Code)
	require.Equal(t, "/sign-in", answer.Header().Get("Location"))
}
