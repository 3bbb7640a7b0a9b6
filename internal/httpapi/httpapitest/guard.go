// Package httpapitest checks what every handler of the REST interfaces and pages
// holds to.
package httpapitest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Guarded is a handler that refuses what web pages elsewhere have a browser send.
type Guarded struct {
	// New returns the handler, with further names of its server.
	New func(hosts ...string) http.Handler
	// Read is a path that every client may read. Empty means /healthz.
	Read string
	// Change are requests that change something, as "METHOD PATH", besides all
	// operations of the handler's /openapi.json whose methods are not safe. They are
	// sent without a body.
	Change []string
	// Link is the path of a page that links elsewhere may lead to, although other
	// origins may not read it. Empty means none.
	Link string
	// AnyPages says that all routes are for pages of every origin, as httpapi.AnyPages
	// does, and say themselves which of them may read the answers.
	AnyPages bool
}

// Check runs the checks over loopback connections.
func (g Guarded) Check(t *testing.T) {
	t.Helper()
	if g.Read == "" {
		g.Read = "/healthz"
	}
	at := g.serve(t)
	g.Change = append(g.Change, operations(t, at)...)
	port := at[strings.LastIndex(at, ":"):]
	t.Run("rebound names are misdirected", func(t *testing.T) {
		for _, host := range []string{"evil.example", "evil.example" + port, "127.0.0.1.evil.example", "localhost.evil.example", "notlocalhost"} {
			status, body := send(t, at, "GET "+g.Read, map[string]string{"Host": host})
			require.Equal(t, http.StatusMisdirectedRequest, status, host)
			require.Contains(t, body, "-hosts "+strings.TrimSuffix(host, port), "the answer names the remedy")
			for _, change := range g.Change {
				status, _ := send(t, at, change, map[string]string{"Host": host, "Origin": "http://" + host, "Sec-Fetch-Site": "same-origin"})
				require.Equal(t, http.StatusMisdirectedRequest, status, "%s as %s", change, host)
			}
		}
	})
	t.Run("names of this machine are answered", func(t *testing.T) {
		for _, host := range []string{"127.0.0.1" + port, "localhost" + port, "LOCALHOST.", "a.localhost" + port,
			"[::1]" + port, "::1", "192.0.2.1"} {
			status, body := send(t, at, "GET "+g.Read, map[string]string{"Host": host})
			require.Equal(t, http.StatusOK, status, "%s: %s", host, body)
		}
		named := g.serve(t, "models.example.org")
		for _, host := range []string{"models.example.org", "Models.Example.org:80", "localhost"} {
			status, body := send(t, named, "GET "+g.Read, map[string]string{"Host": host})
			require.Equal(t, http.StatusOK, status, "%s: %s", host, body)
		}
		status, _ := send(t, named, "GET "+g.Read, map[string]string{"Host": "evil.example"})
		require.Equal(t, http.StatusMisdirectedRequest, status)
	})
	t.Run("pages of other origins change nothing", func(t *testing.T) {
		trusting := g.serve(t, "https://app.example.org")
		for _, change := range g.Change {
			for _, foreign := range []map[string]string{
				{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"},
				{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
				{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
			} {
				status, body := send(t, at, change, foreign)
				require.Equal(t, http.StatusForbidden, status, "%s %v", change, foreign)
				require.Contains(t, body, "-hosts", "the answer names the remedy")
			}
			for _, own := range []map[string]string{nil, {"Origin": at}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}} {
				_, body := send(t, at, change, own)
				require.NotContains(t, body, "another origin", "%s %v", change, own)
			}
			_, body := send(t, trusting, change, map[string]string{"Origin": "https://app.example.org", "Sec-Fetch-Site": "cross-site"})
			require.NotContains(t, body, "another origin", change)
			status, _ := send(t, trusting, change, map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"})
			require.Equal(t, http.StatusForbidden, status, change)
		}
	})
	if !g.AnyPages {
		t.Run("pages of trusted origins read answers", func(t *testing.T) {
			CheckTrusted(t, g.serve(t, "https://app.example.org"), "https://app.example.org", append([]string{"GET " + g.Read}, g.Change...))
		})
	}
	if g.Link == "" {
		return
	}
	t.Run("links lead to pages and other origins do not read them", func(t *testing.T) {
		link := map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
		_, body := send(t, at, "GET "+g.Link, link)
		require.NotContains(t, body, "another origin")
		for name, value := range map[string]string{"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "iframe"} {
			other := map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
			other[name] = value
			status, _ := send(t, at, "GET "+g.Link, other)
			require.Equal(t, http.StatusForbidden, status, value)
		}
	})
}

// CheckTrusted checks that pages of an origin that the server at an address trusts may have a
// browser send requests, as "METHOD PATH", and read the answers, and that those of other
// origins may not (Fetch standard, section 3.2). The requests have no credentials.
func CheckTrusted(t *testing.T, at, origin string, requests []string) {
	t.Helper()
	for _, request := range requests {
		method, path, _ := strings.Cut(request, " ")
		for from, readable := range map[string]bool{origin: true, "https://evil.example": false, "null": false, at: false, "": false} {
			header := map[string]string{}
			if from != "" {
				header["Origin"] = from
			}
			answer, body := exchange(t, at, request, header)
			require.Contains(t, strings.Join(answer.Header.Values("Vary"), ", "), "Origin", "%s from %q", request, from)
			checkReadable(t, answer, from, readable)
			if readable {
				require.NotEqual(t, http.StatusMisdirectedRequest, answer.StatusCode, "%s: %s", request, body)
				require.NotContains(t, body, "another origin", request)
			}
			header["Access-Control-Request-Method"] = method
			header["Access-Control-Request-Headers"] = "authorization,content-type,if-match,x-any"
			answer, _ = exchange(t, at, http.MethodOptions+" "+path, header)
			checkReadable(t, answer, from, readable)
			allowed := answer.Header.Get("Access-Control-Allow-Headers")
			if readable {
				require.Equal(t, http.StatusNoContent, answer.StatusCode, request)
				require.Equal(t, method, answer.Header.Get("Access-Control-Allow-Methods"), request)
				require.Equal(t, header["Access-Control-Request-Headers"], allowed, request)
				require.NotEmpty(t, answer.Header.Get("Access-Control-Max-Age"), request)
				continue
			}
			require.Empty(t, answer.Header.Get("Access-Control-Allow-Methods"), request)
			require.Empty(t, allowed, request)
		}
	}
}

// checkReadable checks whether the answer lets pages of the origin read it, all header fields
// included, and that it never takes cookies from them.
func checkReadable(t *testing.T, answer *http.Response, origin string, readable bool) {
	t.Helper()
	header := map[string]string{"Access-Control-Allow-Origin": "", "Access-Control-Allow-Credentials": "", "Access-Control-Expose-Headers": ""}
	if readable {
		header["Access-Control-Allow-Origin"] = origin
		if answer.Request.Method != http.MethodOptions {
			header["Access-Control-Expose-Headers"] = "*"
		}
	}
	for name, want := range header {
		require.Equal(t, want, answer.Header.Get(name), "%s: %s %s from %q", name, answer.Request.Method, answer.Request.URL.Path, origin)
	}
}

// CheckName checks that the handler is answered under a name without being given it.
func (g Guarded) CheckName(t *testing.T, name string) {
	t.Helper()
	status, body := send(t, g.serve(t), "GET "+g.Read, map[string]string{"Host": name})
	require.Equal(t, http.StatusOK, status, body)
}

// CheckServer checks that a server on loopback is guarded, and is answered under a
// name that its flag -hosts has. Read is a path that every client may read.
func CheckServer(t *testing.T, at, read, name string) {
	t.Helper()
	for host, want := range map[string]int{"": http.StatusOK, name: http.StatusOK, "evil.example": http.StatusMisdirectedRequest} {
		status, body := send(t, at, "GET "+read, map[string]string{"Host": host})
		require.Equal(t, want, status, "%s as %q: %s", at, host, body)
	}
	for _, change := range operations(t, at) {
		status, body := send(t, at, change, map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"})
		require.Equal(t, http.StatusForbidden, status, "%s at %s: %s", change, at, body)
	}
}

// serve starts the handler on loopback and returns its address.
func (g Guarded) serve(t *testing.T, hosts ...string) string {
	t.Helper()
	server := httptest.NewServer(g.New(hosts...))
	t.Cleanup(server.Close)
	return server.URL
}

// operations returns the operations of a handler's OpenAPI document that change
// something, with "some" for each parameter. There are none without a document.
func operations(t *testing.T, at string) []string {
	t.Helper()
	status, body := send(t, at, "GET /openapi.json", nil)
	if status != http.StatusOK {
		return nil
	}
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(body), &document))
	var changes []string
	for path, item := range document.Paths {
		path = parameter.ReplaceAllString(path, "some")
		for _, method := range []string{"post", "put", "patch", "delete"} {
			if _, ok := item[method]; ok {
				changes = append(changes, strings.ToUpper(method)+" "+path)
			}
		}
	}
	require.NotEmpty(t, changes)
	return changes
}

// send sends a request and returns the status and the text of the answer.
func send(t *testing.T, at, request string, header map[string]string) (status int, body string) {
	t.Helper()
	answer, body := exchange(t, at, request, header)
	return answer.StatusCode, body
}

// exchange sends a request and returns the answer and its text.
func exchange(t *testing.T, at, request string, header map[string]string) (*http.Response, string) {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	where, err := url.Parse(at + path)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r := (&http.Request{Method: method, URL: where, Header: http.Header{}}).WithContext(ctx)
	for name, value := range header {
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }() // it was only read
	data, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer, string(data)
}
