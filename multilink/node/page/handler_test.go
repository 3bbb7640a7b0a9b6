package page_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/nodetest"
	"github.com/iotenablers/enablers/multilink/node/page"
	"github.com/iotenablers/enablers/multilink/node/rest"
	"github.com/iotenablers/enablers/storage"
)

// served returns the configuration of an instance that serves its pages at the root.
func served(role node.Role) nodetest.Config {
	config := nodetest.NewConfig(role, nodetest.NewPlane("eth0", "wlan0", "mesh0", "wwan0"), storage.NewMemoryDocuments())
	config.Handler = func(n *node.Node, opts rest.HandlerOptions) (http.Handler, error) {
		return page.NewHandler(n, &page.HandlerOptions{REST: opts, Root: true})
	}
	return config
}

func server(t *testing.T) *nodetest.Instance { return nodetest.Start(t, served(node.Server)) }

func client(t *testing.T) *nodetest.Instance { return nodetest.Start(t, served(node.Client)) }

// signIn sends the form of the page.
func signIn(i *nodetest.Instance, secret string, header map[string]string) *httptest.ResponseRecorder {
	all := map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	for name, value := range header {
		all[name] = value
	}
	return i.Send("POST", "/.enablers/sign-in", url.Values{"token": {secret}}.Encode(), all)
}

func TestNewHandler_setsALoginSessionForTheToken(t *testing.T) {
	i := server(t)
	i.Three(true)
	w := i.Send("GET", "/", nil, map[string]string{"Accept": "text/html"})
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.Equal(t, "/.enablers/sign-in?to=%2F", w.Header().Get("Location"))
	w = i.Send("GET", "/sign-in", nil, nil)
	require.Equal(t, http.StatusTemporaryRedirect, w.Code, "where the form was once")
	require.Equal(t, "/.enablers/sign-in", w.Header().Get("Location"))
	require.Equal(t, http.StatusOK, i.Send("GET", "/.enablers/sign-in", nil, nil).Code)
	w = signIn(i, "wrong token, long enough", nil)
	require.Equal(t, http.StatusForbidden, w.Code)
	require.Contains(t, w.Body.String(), "The token is not valid")
	require.Empty(t, w.Result().Cookies())
	require.Equal(t, http.StatusForbidden, signIn(i, nodetest.Token, map[string]string{"Origin": "https://evil.example"}).Code)

	w = signIn(i, nodetest.Token, map[string]string{"Origin": "http://example.com"})
	require.Equal(t, http.StatusSeeOther, w.Code)
	cookie := w.Result().Cookies()[0]
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	require.NotContains(t, cookie.Value, nodetest.Token)
	mine := map[string]string{"Cookie": cookie.Name + "=" + cookie.Value}
	w = i.Send("GET", "/", nil, mine)
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), `data-name="mesh0"`)
	require.NotContains(t, w.Body.String(), nodetest.Token)
	require.Equal(t, http.StatusOK, i.Send("GET", "/status", nil, mine).Code)
	for _, foreign := range []map[string]string{{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"},
		{"Sec-Fetch-Site": "same-site"}} {
		foreign["Cookie"] = mine["Cookie"]
		require.Equal(t, http.StatusForbidden, i.Send("PUT", "/bond", `{}`, foreign).Code)
		require.Equal(t, http.StatusForbidden, i.Send("POST", "/.enablers/sign-out", nil, foreign).Code)
	}
	w = i.Send("POST", "/.enablers/sign-out", nil, mine)
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.Negative(t, w.Result().Cookies()[0].MaxAge)
	require.Equal(t, http.StatusUnauthorized, i.Send("GET", "/status", nil, mine).Code, "the session has ended here as well")
}

func TestNewHandler_forbidsForeignSourcesInThePage(t *testing.T) {
	i := server(t)
	w := i.Send("GET", "/", nil, map[string]string{"Authorization": "Bearer " + nodetest.Token})
	require.Equal(t, http.StatusOK, w.Code)
	policy := w.Header().Get("Content-Security-Policy")
	require.Contains(t, policy, "default-src 'none'")
	require.NotContains(t, policy, "unsafe")
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	page := w.Body.String()
	require.NotRegexp(t, `<script>|style="|\son[a-z]+=`, page)
	require.Contains(t, page, `"./page/look.css"`)
	for _, asset := range regexp.MustCompile(`(?:src|href)="\./(page/[^"]+)"`).FindAllStringSubmatch(page, -1) {
		require.Equal(t, http.StatusOK, i.Send("GET", "/"+asset[1], nil, nil).Code, asset[1])
	}
	for _, name := range []string{"page.js", "order.js", "copy.js", "provision.js"} {
		w := i.Send("GET", "/page/"+name, nil, nil)
		require.Equal(t, http.StatusOK, w.Code)
		require.True(t, strings.HasPrefix(w.Header().Get("Content-Type"), "text/javascript"))
		require.NotContains(t, w.Body.String(), "localStorage")
		require.NotContains(t, w.Body.String(), "innerHTML")
	}
	require.Equal(t, http.StatusNotFound, i.Send("GET", "/page/none.js", nil, nil).Code)
	require.Equal(t, http.StatusOK, i.Send("GET", "/favicon.ico", nil, nil).Code)
}

func TestNewHandler_keepsTheLoginSessionsOfTwoInstancesApart(t *testing.T) {
	names := map[string]bool{}
	for _, i := range []*nodetest.Instance{server(t), client(t)} {
		cookies := signIn(i, nodetest.Token, nil).Result().Cookies()
		require.Len(t, cookies, 1)
		names[cookies[0].Name] = true
	}
	require.Len(t, names, 2)
}

func TestHandlerOptions_Root_asksAuthorizeForPagesAndInterface(t *testing.T) {
	config, role := served(node.Server), ""
	config.REST = rest.HandlerOptions{Authorize: func(_ *http.Request, least string) error {
		if role != least {
			return errors.New("the role " + least + " is required")
		}
		return nil
	}}
	i := nodetest.Start(t, config)
	for path, least := range map[string]string{"/": "reader", "/status": "reader", "/api/status": "reader", "/policy": "operator"} {
		role = ""
		require.Contains(t, i.Send("GET", path, nil, nil).Body.String(), "the role "+least+" is required", path)
		role = least
		require.Equal(t, http.StatusOK, i.Send("GET", path, nil, nil).Code, path)
	}
	require.Equal(t, http.StatusNotFound, i.Send("GET", "/.enablers/sign-in", nil, nil).Code, "callers do not sign in here")
}
