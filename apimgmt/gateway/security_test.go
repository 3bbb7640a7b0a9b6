package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// An API with a secret: everything is open but /api/admin and what is below it, the
// owner of a thing, and deleting things. These need the token "valid".
//
// Its service is as careless as a service can be. Whatever reading of a request
// leads to the secret, it tells it.
const secret = "the secret"

// readings are the paths that servers out there make of a path: decoded once, twice
// or not, with backslashes for slashes or not, with parameters or not.
func readings(escaped string) []string {
	texts := []string{escaped}
	for range 2 {
		if decoded, err := url.PathUnescape(texts[len(texts)-1]); err == nil {
			texts = append(texts, decoded)
		}
	}
	var all []string
	for _, text := range texts {
		for _, slashes := range []string{text, strings.ReplaceAll(text, `\`, "/")} {
			var bare []string
			for segment := range strings.SplitSeq(slashes, "/") {
				name, _, _ := strings.Cut(segment, ";")
				bare = append(bare, name)
			}
			all = append(all, path.Clean("/"+slashes), path.Clean("/"+strings.Join(bare, "/")))
		}
	}
	return all
}

// isSecret reports whether a path, or a method, is one that needs a token.
func isSecret(method, p string) bool {
	segments := strings.Split(strings.TrimPrefix(p, "/"), "/")
	switch {
	case len(segments) >= 2 && segments[0] == "api" && segments[1] == "admin":
		return true
	case len(segments) == 4 && segments[0] == "api" && segments[1] == "things" && segments[3] == "owner":
		return true
	}
	return len(segments) == 3 && segments[0] == "api" && segments[1] == "things" && segments[2] != "" && method == http.MethodDelete
}

// leaks reports whether a careless service would tell the secret.
func leaks(method, escaped string, header http.Header) bool {
	for _, p := range readings(escaped) {
		for _, m := range []string{strings.ToUpper(method), strings.ToUpper(header.Get("X-Http-Method-Override"))} {
			if isSecret(m, p) {
				return true
			}
		}
	}
	return false
}

// secured is the configuration of the API, with a plugin on the routes that need a
// token.
func secured(service entity.Service, plugin string, config json.RawMessage) entity.Config {
	keep := false
	to := &entity.Ref{Name: service.Name}
	c := entity.Config{Services: []entity.Service{service}, Routes: []entity.Route{
		{Name: "open", Paths: []string{"/"}, StripPath: &keep, Service: to},
		{Name: "thing", Methods: []string{"GET", "POST"}, Paths: []string{`~/api/things/(?<id>[^#?/]+)$`}, StripPath: &keep, Service: to},
		{Name: "delete", Methods: []string{"DELETE"}, Paths: []string{`~/api/things/(?<id>[^#?/]+)$`}, StripPath: &keep, Service: to},
		{Name: "owner", Paths: []string{`~/api/things/(?<id>[^#?/]+)/owner$`}, StripPath: &keep, Service: to},
		{Name: "admin", Paths: []string{`~/api/admin(/.*)?$`}, StripPath: &keep, Service: to},
	}}
	for _, route := range []string{"delete", "owner", "admin"} {
		c.Plugins = append(c.Plugins, entity.Plugin{Name: plugin, Config: config, Route: &entity.Ref{Name: route}})
	}
	return c
}

// api is the API with OpenID Connect in front of it.
type api struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // by the service: method, target and body
}

func newAPI(t testing.TB) *api {
	t.Helper()
	a := &api{}
	service := newService(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		a.mu.Lock()
		a.seen = append(a.seen, fmt.Sprint(r.Method, " ", r.RequestURI, " ", string(body), err != nil))
		a.mu.Unlock()
		target, _, _ := strings.Cut(r.RequestURI, "?")
		if leaks(r.Method, target, r.Header) {
			_, _ = fmt.Fprintf(w, "%s for %q", secret, r.Header.Get("X-Userinfo"))
			return
		}
		_, _ = fmt.Fprintf(w, "open for %q", r.Header.Get("X-Userinfo"))
	})
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/introspect" {
			_, _ = fmt.Fprintf(w, `{"active":%t,"sub":"ada","azp":"portal"}`, r.FormValue("token") == "valid")
			return
		}
		at := "http://" + r.Host
		_ = json.NewEncoder(w).Encode(map[string]string{
			"issuer": at, "jwks_uri": at + "/certs", "authorization_endpoint": at + "/auth", "token_endpoint": at + "/token",
			"introspection_endpoint": at + "/introspect",
		})
	}))
	t.Cleanup(issuer.Close)
	config, err := json.Marshal(map[string]string{
		"discovery": issuer.URL + "/.well-known/openid-configuration", "introspection_endpoint": issuer.URL + "/introspect",
		"client_id": "portal", "client_secret": "s", "bearer_only": "yes", "realm": "api",
	})
	require.NoError(t, err)
	g, server := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(secured(serviceAt(t, "s", service.URL), "oidc", config)))
	a.Server = server
	return a
}

// send sends bytes as they are, and a request that ends the connection after them,
// and returns all that comes back.
func (a *api) send(t testing.TB, text string) string {
	t.Helper()
	connection, err := net.Dial("tcp", a.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = connection.Close() }()
	require.NoError(t, connection.SetDeadline(time.Now().Add(patience)))
	_, err = io.WriteString(connection, text+"GET /bye HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	require.NoError(t, err)
	data, err := io.ReadAll(connection)
	if err != nil && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
		require.NoError(t, err, text)
	}
	return string(data)
}

func TestGateway_requiresATokenOnSecuredRoutes(t *testing.T) {
	a := newAPI(t)
	for _, target := range []string{"/api/admin", "/api/admin/users", "/api/things/7/owner"} {
		response, body := do(t, http.MethodGet, a.URL+target, "")
		require.Equal(t, http.StatusUnauthorized, response.StatusCode)
		require.NotContains(t, body, secret)
		response, _ = do(t, http.MethodGet, a.URL+target, "", "Authorization: Bearer forged")
		require.Equal(t, http.StatusUnauthorized, response.StatusCode)
		response, body = do(t, http.MethodGet, a.URL+target, "", "Authorization: Bearer valid", "X-Userinfo: forged", "X_Userinfo: forged")
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Contains(t, body, secret)
		require.NotContains(t, body, "forged")
	}
	for _, target := range []string{"/", "/api/things/7", "/api/things/a%2Fb", "/api/things/a;v=1", "/api/things/100%25",
		"/api/things/%C3%A9", "/x/%5Cy"} {
		response, body := do(t, http.MethodGet, a.URL+target, "")
		require.Equal(t, http.StatusOK, response.StatusCode, target)
		require.Contains(t, body, "open", target)
	}
}

func TestGateway_securesEverySpellingOfAPath(t *testing.T) {
	a := newAPI(t)
	for _, target := range []string{
		// Dots
		"/api/x/../admin", "/api/./admin", "/x/../../api/admin", "/api/%2e/admin", "/api/x/%2e%2e/admin",
		"/api/x/.%2E/admin", "/api/%2E%2e/api/admin",
		// Slashes
		"//api//admin", "/api//admin/", "///api/admin", "/api/admin//", "/api/admin/.", "/api/admin/x/..",
		// Encoded slashes, backslashes
		"/api%2Fadmin", "/api%2fadmin", "/%2Fapi%2Fadmin", "/api/things/7%2Fowner", "/api/things%2F7%2Fowner", `/api\admin`,
		"/api%5Cadmin", "/api%5cadmin/users",
		"/open/..%2Fapi%2Fadmin", "/open/..%5Capi%5Cadmin", `/open/..\api\admin`, "/open%2F..%2Fapi%2Fadmin", "/open/%2e%2e%2Fapi/admin",
		// Encoded letters, encoded twice
		"/api/%61dmin", "/%61%70%69/%61%64%6d%69%6e", "/api/%2561dmin", "/api%252Fadmin", "/open/%252e%252e/api/admin",
		"/open/..%252Fapi/admin", "/open/%25%32%65%25%32%65/api/admin",
		// Parameters of segments
		"/api;/admin", "/api;v=1/admin;x", "/api/admin;x=1", "/open/..;/api/admin", "/open/..;a=b/api/admin",
		"/api/things/7;x/owner", "/;/api/admin",
		// Ends of paths, other bytes
		"/api/admin?", "/api/admin?x", "/api/admin#", "/api/admin%23", "/api/admin%3F", "/api/admin%00", "/api%00/admin", "/open%00/../api/admin",
		"/api/admin%20", "/api/admin%0d%0a", "/open/%c0%ae%c0%ae/api/admin", "/api%c0%afadmin", "/api/\xc0\xae/admin", "/api%e0%80%afadmin",
		// Not the usual form
		"http://elsewhere/api/admin", "HTTP://elsewhere//api/admin", "http://elsewhere/open/%2e%2e/api/admin",
		"http:///api/admin", "api/admin", "*",
	} {
		for _, method := range []string{"GET", "get", "PUT", "HEAD"} {
			answer := a.send(t, method+" "+target+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
			require.NotContains(t, answer, secret, "%s %s", method, target)
			require.Contains(t, answer, "HTTP/1.1 ", "%s %s", method, target)
		}
	}
}

func TestGateway_securesEveryMethod(t *testing.T) {
	a := newAPI(t)
	for _, request := range []string{
		"DELETE /api/things/7 HTTP/1.1\r\n", "delete /api/things/7 HTTP/1.1\r\n", "Delete /api/things/7 HTTP/1.1\r\n",
		"POST /api/things/7 HTTP/1.1\r\nX-HTTP-Method-Override: DELETE\r\n", "GET /api/things/7 HTTP/1.1\r\nX-HTTP-Method-Override: delete\r\n",
		"POST /api/things/7 HTTP/1.1\r\nX-HTTP-Method-Override: GET\r\nX-HTTP-Method-Override: DELETE\r\n",
	} {
		require.NotContains(t, a.send(t, request+"Host: a\r\nConnection: close\r\n\r\n"), secret, request)
	}
	response, body := do(t, http.MethodDelete, a.URL+"/api/things/7", "", "Authorization: Bearer valid")
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Contains(t, body, secret)
}

func TestGateway_forwardsNoRequestInsideAnother(t *testing.T) {
	const inner = "GET /api/admin HTTP/1.1\r\nHost: a\r\n\r\n"
	a := newAPI(t)
	post := "POST /open HTTP/1.1\r\nHost: a\r\n"
	for _, text := range []string{
		// Two lengths
		post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner,
		post + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n25\r\n" + inner + "\r\n0\r\n\r\n",
		post + "Content-Length: 0\r\nContent-Length: 38\r\n\r\n" + inner, post + "Content-Length: 0, 38\r\n\r\n" + inner,
		post + "Content-Length: +38\r\n\r\n" + inner, post + "Content-Length: 3 8\r\n\r\n" + inner, post +
			"Content-Length: 0x0\r\n\r\n" + inner, post + "Content-Length : 0\r\n\r\n" + inner,
		// Codings in disguise
		post + "Transfer-Encoding: xchunked\r\nContent-Length: 38\r\n\r\n" + inner, post +
			"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + inner,
		post + "Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n" + inner, post +
			"Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n" + inner, post + "Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n" + inner,
		post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n" + inner, post +
			" Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner,
		post + "Connection: Content-Length\r\nContent-Length: 38\r\n\r\n" + inner, post +
			"Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n\r\n26\r\n" + inner + "\r\n0\r\n\r\n",
		post + "Content_Length: 38\r\nContent-Length: 38\r\n\r\n" + inner, post +
			"Transfer_Encoding: chunked\r\nContent-Length: 38\r\n\r\n" + inner,
		// Chunks
		post + "Transfer-Encoding: chunked\r\n\r\n0;a=\"\r\n" + inner + "\"\r\n\r\n", post +
			"Transfer-Encoding: chunked\r\n\r\n0\nx\r\n\r\n" + inner, post + "Transfer-Encoding: chunked\r\n\r\n-0\r\n\r\n" + inner,
		post + "Transfer-Encoding: chunked\r\n\r\n1_0\r\n" + inner, post +
			"Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n" + inner,
		post + "Transfer-Encoding: chunked\r\n\r\n2\r\nabX\r\n0\r\n\r\n" + inner,
		// Lines
		"GET /open HTTP/1.1\nHost: a\n\rGET /api/admin HTTP/1.1\r\n\r\n", "GET /open\r\n\r\n" + inner,
		"GET /open HTTP/1.1\r\nHost: a\r\nX: y\r GET /api/admin HTTP/1.1\r\n\r\n",
		"GET /open HTTP/1.1\r\nHost: a\r\nX: y\r\n GET /api/admin HTTP/1.1\r\n\r\n", "GET /open?x\rGET /api/admin HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /open%20HTTP/1.1%0d%0aHost:%20a%0d%0a%0d%0aGET%20/api/admin HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /open?%0d%0a%0d%0a" + url.QueryEscape(inner) + " HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /open HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET /open HTTP/1.1\r\nHost: a\x00b\r\n\r\n", "GET /open HTTP/1.1\r\n\r\n",
		// Other protocols
		"GET /open HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: " +
			"AAMAAABkAAQAAP__\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"GET /open HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 777\r\n\r\n" + inner,
		"CONNECT /api/admin HTTP/1.1\r\nHost: a\r\n\r\n" + inner, "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n" + inner,
		"TRACE /api/admin HTTP/1.1\r\nHost: a\r\n\r\n",
		"HEAD /open HTTP/1.1\r\nHost: a\r\nContent-Length: 38\r\n\r\n" + inner,
		"GET /open HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner,
	} {
		require.NotContains(t, a.send(t, text), secret, text)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, seen := range a.seen {
		require.False(t, strings.HasPrefix(strings.SplitN(seen, " ", 3)[1], "/api/admin"),
			"the service has got %q, which has passed no plugin", seen)
	}
}

func TestGateway_keepsAnswersOfClientsApart(t *testing.T) {
	// A service that answers badly in every way it can: the next answer on the
	// connection is never taken for that of another request.
	answers := []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n%[1]sHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison",
		"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n%[1]s\r\n0\r\n\r\nHTTP/1.1 200 " +
			"OK\r\nContent-Length: 6\r\n\r\npoison", "HTTP/1.1 304 Not Modified\r\n\r\npoison",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n%[1]s", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n%[1]s",
		"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n%[1]s",
	}
	address := rawService(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		for n := 0; ; n++ {
			request, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, request.Body)
			id := request.URL.Query().Get("id")
			text := answers[(n+len(id)+int(id[0]))%len(answers)]
			if strings.Contains(text, "%[1]s") {
				text = fmt.Sprintf(text, id)
			}
			if _, err := io.WriteString(c, text); err != nil || strings.Contains(text, ": 9\r\n\r\n") {
				return
			}
		}
	})
	g, server := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", address), anyPath())))
	var all sync.WaitGroup
	mistakes := make(chan string, 4*250)
	for worker := range 4 {
		all.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			for n := range 250 {
				id := string([]byte{byte('a' + worker), byte('a' + n%26)})
				method := []string{"GET", "POST", "HEAD"}[n%3]
				request, err := http.NewRequestWithContext(context.Background(), method, server.URL+"/?id="+id, nil)
				if err != nil {
					mistakes <- err.Error()
					continue
				}
				response, err := transport.RoundTrip(request)
				if err != nil {
					continue
				}
				body, err := io.ReadAll(response.Body)
				_ = response.Body.Close()
				if text := string(body); err == nil && response.StatusCode == http.StatusOK && method != "HEAD" && text != id {
					mistakes <- id + " got " + text
				}
			}
		})
	}
	all.Wait()
	close(mistakes)
	for mistake := range mistakes {
		require.Fail(t, mistake)
	}
}

func TestGateway_refusesPrivateServersOfADefinition(t *testing.T) {
	var reached []string
	inside := newService(t, func(_ http.ResponseWriter, r *http.Request) { reached = append(reached, r.Host) })
	_, port, err := net.SplitHostPort(inside.Listener.Addr().String())
	require.NoError(t, err)
	g, server := newGateway(t, gateway.Options{AllowUpstreams: []netip.Prefix{}})
	for _, host := range []string{
		"127.0.0.1", "127.255.255.254", "localhost", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]",
		"169.254.169.254", "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "[fe80::1%25lo]", "[fc00::1]",
		"[fd00:ec2::254]", "[2001:0:7f00:1::]", "255.255.255.255", "224.0.0.1",
	} {
		s := entity.Service{Name: "s"}
		if s.SetURL("http://"+host+":"+port) != nil {
			continue
		}
		s.ConnectTimeout = 30_000
		config := routed(s, anyPath())
		if g.Apply(config) != nil {
			continue // refused already
		}
		response, _ := do(t, http.MethodGet, server.URL, "")
		require.Contains(t, []int{http.StatusBadGateway, http.StatusServiceUnavailable}, response.StatusCode, host)
		upgrade := raw(t, server, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", false)
		require.NotContains(t, upgrade, "200", host)

		config.Services[0].Host = "pool"
		config.Upstreams = []entity.Upstream{{Name: "pool"}}
		config.Targets = []entity.Target{{Target: host + ":" + port, Upstream: &entity.Ref{Name: "pool"}}}
		if g.Apply(config) == nil {
			response, _ = do(t, http.MethodGet, server.URL, "")
			require.Contains(t, []int{http.StatusBadGateway, http.StatusServiceUnavailable}, response.StatusCode, host)
		}
	}
	for _, address := range []string{"unix:/var/run/docker.sock", "file:///etc/passwd", "gopher://a:70/", "http://a@127.0.0.1/"} {
		s := entity.Service{Name: "s"}
		if s.SetURL(address) == nil {
			require.Error(t, g.Apply(routed(s, anyPath())), address)
		}
	}
	require.Empty(t, reached)
}

func TestGateway_relaysRedirects(t *testing.T) {
	inside := newService(t, func(http.ResponseWriter, *http.Request) { t.Error("followed") })
	service := newService(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inside.URL, http.StatusFound) })
	g, server := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), anyPath())))
	response, _ := do(t, http.MethodGet, server.URL, "")
	require.Equal(t, http.StatusFound, response.StatusCode)
}

func FuzzNoPathLeadsAroundASecuredRoute(f *testing.F) {
	for _, target := range []string{"/api/admin", "/api%2Fadmin", "/open/..;/api/admin", "/api/things/7%2Fowner",
		"/x/..%255capi%5cadmin", "/api/%2e/admin;/x", "//%2e/;/.."} {
		f.Add(target)
	}
	var seen string
	service := gateway.Kind{Name: "service", Priority: -1, Compile: func(gateway.Setup) (gateway.Plugin, error) {
		return gateway.Plugin{Access: func(x *gateway.Exchange) *gateway.Answer {
			seen = x.Upstream().Path
			return &gateway.Answer{}
		}}, nil
	}}
	door := gateway.Kind{Name: "door", Compile: func(gateway.Setup) (gateway.Plugin, error) {
		return gateway.Plugin{Access: func(*gateway.Exchange) *gateway.Answer { return gateway.Refuse(http.StatusUnauthorized, "") }}, nil
	}}
	g, err := gateway.New(&gateway.Options{Kinds: []gateway.Kind{service, door}})
	require.NoError(f, err)
	config := secured(serviceAt(f, "s", "http://127.0.0.1:1"), "door", nil)
	config.Plugins = append(config.Plugins, entity.Plugin{Name: "service"})
	require.NoError(f, g.Apply(config))
	f.Fuzz(func(t *testing.T, target string) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			return
		}
		seen = ""
		g.ServeHTTP(httptest.NewRecorder(), (&http.Request{Method: http.MethodGet, URL: u, Host: "a", Header: http.Header{},
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(t.Context()))
		require.False(t, seen != "" && leaks(http.MethodGet, seen, nil), "%q became %q", target, seen)
	})
}
