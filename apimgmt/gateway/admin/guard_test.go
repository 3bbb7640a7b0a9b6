package admin_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/gateway/admin"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/storage"
)

// ask sends a request to a handler as if it had come over a connection.
func ask(handler http.Handler, method, path, local, remote string, header map[string]string) *httptest.ResponseRecorder {
	return askWith(handler, method, path, local, remote, header, "")
}

// askWith is ask with a body.
func askWith(
	handler http.Handler, method, path, local, remote string, header map[string]string, body string,
) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://127.0.0.1:8101"+path, strings.NewReader(body))
	r.RemoteAddr = remote
	address, err := net.ResolveTCPAddr("tcp", local)
	if err != nil {
		panic(err)
	}
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(address)))
	for name, value := range header {
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

const (
	here  = "127.0.0.1:8101"
	me    = "127.0.0.1:40000"
	there = "192.0.2.7:40000"
	token = "a-token-of-the-admin-api"
)

func guarded(t *testing.T, token string) http.Handler {
	store, _ := openStore(t, storage.NewMemoryDocuments())
	api, err := admin.New(admin.Config{Store: store, Token: token, Hosts: []string{"gateway.local"}})
	require.NoError(t, err)
	return api.Handler()
}

func TestAPI_Handler_withoutATokenAnswersLoopbackOnly(t *testing.T) {
	handler := guarded(t, "")
	for _, host := range []string{"127.0.0.1:8101", "localhost:8101", "[::1]:8101", "localhost", "gateway.local:8101", "a.localhost"} {
		require.Equal(t, 200, ask(handler, "GET", "/services", here, me, map[string]string{"Host": host}).Code, host)
	}
	require.Equal(t, 200, ask(handler, "GET", "/services", "[::1]:8101", "[::1]:9", nil).Code)
	require.Equal(t, 403, ask(handler, "GET", "/services", "192.0.2.1:8101", there, nil).Code)
	require.Equal(t, 403, ask(handler, "GET", "/services", "192.0.2.1:8101", me, nil).Code)
	require.Equal(t, 403, ask(handler, "GET", "/services", here, there, nil).Code)
	for name, value := range map[string]string{
		"Host": "192.0.2.1:8101", "X-Forwarded-For": "192.0.2.7", "Forwarded": "for=192.0.2.7",
		"Sec-Fetch-Site": "cross-site",
	} {
		require.Equal(t, 403, ask(handler, "GET", "/services", here, me, map[string]string{name: value}).Code, name)
	}
	require.Equal(t, 421, ask(handler, "GET", "/services", here, me, map[string]string{"Host": "rebound.example:8101"}).Code)
	require.Equal(t, 200, ask(handler, "GET", "/healthz", here, there, nil).Code)
}

func TestAPI_Handler_refusesChangesByOtherOrigins(t *testing.T) {
	handler := guarded(t, "")
	for _, header := range []map[string]string{
		{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:9999"},
		{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
	} {
		require.Equal(t, 403, ask(handler, "DELETE", "/services/s", here, me, header).Code, "%v", header)
	}
	for _, header := range []map[string]string{nil, {"Origin": "http://127.0.0.1:8101"},
		{"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}} {
		require.Equal(t, 204, ask(handler, "DELETE", "/services/s", here, me, header).Code, "%v", header)
	}
}

func TestAPI_Handler_withATokenRequiresIt(t *testing.T) {
	handler := guarded(t, token)
	for _, remote := range []string{me, there} {
		for _, header := range []map[string]string{nil, {"Kong-Admin-Token": ""}, {"Kong-Admin-Token": token + "x"},
			{"Authorization": "Bearer x"}, {"Authorization": "Basic " + token}} {
			w := ask(handler, "GET", "/services", here, remote, header)
			require.Equal(t, 401, w.Code)
			require.JSONEq(t, `{"message":"Unauthorized"}`, w.Body.String())
			require.NotEmpty(t, w.Header().Get("WWW-Authenticate"))
		}
		require.Equal(t, 200, ask(handler, "GET", "/services", "192.0.2.1:8101", remote,
			map[string]string{"Kong-Admin-Token": token, "Host": "gateway.example"}).Code)
		require.Equal(t, 200, ask(handler, "GET", "/services", "192.0.2.1:8101", remote,
			map[string]string{"Authorization": "Bearer " + token}).Code)
	}
	require.Equal(t, 403, ask(handler, "DELETE", "/services/s", here, me,
		map[string]string{"Kong-Admin-Token": token, "Origin": "https://evil.example"}).Code)
	_, err := admin.New(admin.Config{})
	require.Error(t, err)
	store, _ := openStore(t, storage.NewMemoryDocuments())
	_, err = admin.New(admin.Config{Store: store, Token: "short"})
	require.Error(t, err)
}

func newRecorder() *httptest.ResponseRecorder { return httptest.NewRecorder() }

func TestConfig_Authorize_acceptsFurtherCallers(t *testing.T) {
	for _, own := range []string{"", token} {
		store, _ := openStore(t, storage.NewMemoryDocuments())
		api, err := admin.New(admin.Config{Store: store, Token: own, Metrics: prometheus.NewRegistry(),
			Authorize: func(r *http.Request, role string) error {
				switch header := r.Header.Get("Authorization"); {
				case header == "Bearer of an admin", header == "Bearer of a reader" && role == "reader":
					return nil
				}
				return errors.New("the role " + role + " is required")
			}})
		require.NoError(t, err)
		for header, want := range map[string][2]int{"Bearer of an admin": {200, 200}, "Bearer of a reader": {403, 200}, "": {403, 403}} {
			for at, path := range []string{"/services", "/metrics"} {
				w := ask(api.Handler(), "GET", path, here, me, map[string]string{"Authorization": header})
				require.Equal(t, want[at], w.Code, "%s as %q: %s", path, header, w.Body)
			}
		}
		kong := map[string]string{"Kong-Admin-Token": "of an admin"}
		require.Equal(t, 200, ask(api.Handler(), "GET", "/services", here, there, kong).Code)
		require.Equal(t, own != "", ask(api.Handler(), "GET", "/services", here, there, map[string]string{"Kong-Admin-Token": token}).Code == 200)
		require.Equal(t, 200, ask(api.Handler(), "GET", "/healthz", here, me, nil).Code)
	}
}

func TestPages_requireTheTokenForTheAccount(t *testing.T) {
	for _, c := range []struct {
		name, own, field string
		setup            int
	}{
		{name: "none", setup: 303},
		{name: "without it", own: token, setup: 403},
		{name: "a guess", own: token, field: "guess", setup: 403},
		{name: "the token", own: token, field: token, setup: 303},
	} {
		handler := guarded(t, c.own)
		shown := ask(handler, "GET", "/admin/setup", here, me, nil)
		require.Equal(t, 200, shown.Code)
		require.Equal(t, c.own != "", strings.Contains(shown.Body.String(), `name="token"`), c.name)
		fields := url.Values{"name": {"root"}, "password": {password}, "again": {password}, "token": {c.field}}
		header := map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
		require.Equal(t, c.setup, askWith(handler, "POST", "/admin/setup", here, me, header, fields.Encode()).Code, c.name)
	}
}

func TestConfig_Token_cannotBeGuessed(t *testing.T) {
	authorize := func(r *http.Request, _ string) error {
		switch r.Header.Get("Authorization") {
		case "Bearer of an admin":
			return nil
		case "Bearer of a reader":
			return &httpapi.Error{Status: http.StatusForbidden}
		}
		return &httpapi.Error{Status: http.StatusUnauthorized}
	}
	for name, other := range map[string]func(r *http.Request, role string) error{"token alone": nil, "with a door": authorize} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, _ := openStore(t, storage.NewMemoryDocuments())
				api, err := admin.New(admin.Config{Store: store, Token: token, Authorize: other})
				require.NoError(t, err)
				handler := api.Handler()
				show := func(shown, remote string) *httptest.ResponseRecorder {
					return ask(handler, "GET", "/services", here, remote, map[string]string{"Kong-Admin-Token": shown})
				}
				for range 20 { // a request that shows no token is not a guess
					require.Equal(t, 401, show("", me).Code)
				}
				const guesser, reader = "192.0.2.9:40000", "192.0.2.8:40000"
				require.Equal(t, 200, show(token, me).Code)
				for range 10 {
					require.Equal(t, 401, show("guess", me).Code)
					require.Equal(t, 401, show("guess", guesser).Code)
				}
				require.Equal(t, 429, show("guess", me).Code)
				require.Equal(t, 200, show(token, me).Code, "the address has shown it lately")
				for _, shown := range []string{"guess", token} {
					w := show(shown, guesser)
					require.Equal(t, 429, w.Code, "whatever the token")
					require.Equal(t, "1", w.Header().Get("Retry-After"))
				}
				require.Equal(t, 200, show(token, there).Code, "another address")
				require.Equal(t, 401, show("", guesser).Code)
				if other != nil {
					require.Equal(t, 200, show("of an admin", guesser).Code, "the door has its own count")
					for range 20 {
						require.Equal(t, 403, show("of a reader", guesser).Code)
						require.Equal(t, 403, show("of a reader", reader).Code, "a role is no guess")
					}
					require.Equal(t, 200, show(token, reader).Code)
				}
				time.Sleep(time.Second)
				require.Equal(t, 401, show("guess", guesser).Code)
				require.Equal(t, 429, show(token, guesser).Code, "one attempt a second")
				time.Sleep(time.Second)
				require.Equal(t, 200, show(token, guesser).Code)
			})
		})
	}
}
