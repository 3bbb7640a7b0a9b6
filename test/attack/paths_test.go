package attack_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// wire sends requests as they are written, which a client library would correct.
type wire struct {
	t    *testing.T
	host string // HOST:PORT
	conn net.Conn
	in   *bufio.Reader
}

func newWire(t *testing.T, at string) *wire {
	t.Helper()
	host, _, _ := strings.Cut(strings.TrimPrefix(at, "http://"), "/")
	w := &wire{t: t, host: host}
	t.Cleanup(w.close)
	return w
}

func (w *wire) close() {
	if w.conn != nil {
		_ = w.conn.Close() // the server may have closed it
		w.conn = nil
	}
}

// write opens a connection if none is open, and writes to it.
func (w *wire) write(text string) error {
	if w.conn == nil {
		conn, err := net.DialTimeout("tcp", w.host, patience)
		require.NoError(w.t, err)
		require.NoError(w.t, conn.SetDeadline(time.Now().Add(patience)))
		w.conn, w.in = conn, bufio.NewReader(conn)
	}
	_, err := io.WriteString(w.conn, text)
	return err
}

// read reads an answer; its status is 0 if the connection is closed instead.
func (w *wire) read(method string) answer {
	w.t.Helper()
	response, err := http.ReadResponse(w.in, &http.Request{Method: method})
	if err != nil {
		w.close()
		return answer{}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	a := answer{status: response.StatusCode, header: response.Header, body: string(body)}
	if err != nil || response.Close || len(body) == 64<<10 {
		w.close()
	}
	return a
}

// ask sends a request line with a target as it is written, and the header fields.
func (w *wire) ask(method, target string, fields ...string) answer {
	w.t.Helper()
	text := strings.Join(append([]string{method + " " + target + " HTTP/1.1", "Host: " + w.host}, fields...), "\r\n") + "\r\n"
	if method != http.MethodGet && method != http.MethodHead {
		text += "Content-Length: 0\r\n"
	}
	if err := w.write(text + "\r\n"); err != nil { // closed after the answer before
		w.close()
		if err := w.write(text + "\r\n"); err != nil { // closed while it is sent, but perhaps answered
			w.t.Logf("%s: %v", method, err)
		}
	}
	return w.read(method)
}

// spellings returns other ways to write a path.
func spellings(host, path string) []string {
	rest := strings.TrimPrefix(path, "/")
	all := []string{
		path + "/", path + "//", "/" + path, "//" + path, "/." + path, "/x/.." + path, "/%2e" + path, "/x/%2e%2e" + path,
		"/healthz/.." + path, "/healthz/%2e%2e" + path, "/healthz/..%2f" + rest, "/docs/.." + path, "/docs/..%2f" + rest, "/docs/" + rest,
		"/.enablers/.." + path, "/.enablers/page/../.." + path, "/.enablers/page/..%2f..%2f" + rest, "/.enablers" + path,
		path + ";x=y", "/;x" + path, path + "?/healthz", path + "?to=/docs/", path + "%00", path + "%20", path + ".json", path + "%2f",
		path + "/../healthz/.." + path, path + "/.", path + "/healthz", path + "/%2e%2e/docs/",
		"http://" + host + path, "http://evil.example" + path, "https://" + host + path, "//" + host + path, `\` + rest, `/\` + rest,
		strings.ToUpper(path), strings.ReplaceAll(path, "/", "%2f"), "/" + strings.ReplaceAll(rest, "/", "%2f"),
		"/" + strings.ReplaceAll(rest, "/", "%5c"), "/" + strings.ReplaceAll(rest, "/", "//"),
	}
	if rest != "" {
		all = append(all, fmt.Sprintf("/%%%02x%s", rest[0], rest[1:]), fmt.Sprintf("/%%25%02x%s", rest[0], rest[1:]))
	}
	return all
}

// TestPaths_otherSpellings_reachNothing asks for every protected route in other spellings, without
// a token. What is accepted is public by itself.
func TestPaths_otherSpellings_reachNothing(t *testing.T) {
	eachSharedListener(t, func(t *testing.T, _ *process, at string) {
		w := newWire(t, at)
		served := map[string]bool{} // what public routes answer
		for _, o := range operations(t, at) {
			if o.role == httpapi.Public && o.method == http.MethodGet {
				served[send(t, "GET "+o.url, "", "").body] = true
			}
		}
		for _, o := range operations(t, at) {
			if o.role == httpapi.Public || o.method == http.MethodOptions { // which tells the methods, as the public document does
				continue
			}
			for _, target := range spellings(w.host, o.path) {
				a := w.ask(o.method, target)
				if a.status >= 200 && a.status < 300 && !served[a.body] && !isDocsAsset(target) {
					t.Errorf("%s: %s %s is answered without a token: %d %.200q", o, o.method, target, a.status, a.body)
				}
				if to := a.header.Get("Location"); leadsElsewhere(to) {
					t.Errorf("%s: %s %s leads elsewhere: %s", o, o.method, target, to)
				}
			}
		}
	})
}

// leadsElsewhere reports whether browsers take a Location for that of another server.
func leadsElsewhere(to string) bool {
	for _, begin := range []string{"//", `/\`, `\`, "javascript", "http://evil.example", "https://evil.example"} {
		if strings.HasPrefix(to, begin) {
			return true
		}
	}
	return false
}

// isDocsAsset reports whether a target is below the documentation page, whose files are public.
func isDocsAsset(target string) bool {
	return strings.HasPrefix(target, "/docs/") || strings.HasPrefix(target, "/swagger/")
}

// overrides are header fields by which frameworks let a request have another method or path.
var overrides = []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"}

// TestPaths_overrides_changeNothing has a reader send what readers may, with header fields that
// ask for another method or path.
func TestPaths_overrides_changeNothing(t *testing.T) {
	eachListener(t, func(t *testing.T, p *process, at string) {
		reads := map[string]bool{}
		for _, o := range operations(t, at) {
			reads[o.method+o.path] = true
		}
		for _, o := range operations(t, at) {
			for _, field := range overrides {
				a := send(t, "POST "+o.url, p.tokens[httpapi.Reader], "", field+": "+o.method)
				if a.status < 300 && !isPublicPost(o.path) {
					t.Errorf("%s: POST with %s is answered to a reader: %d %.200q", o, field, a.status, a.body)
				}
				if o.method == http.MethodGet || !reads["GET"+o.path] {
					continue
				}
				plain := send(t, "GET "+o.url, p.tokens[httpapi.Reader], "")
				a = send(t, "GET "+o.url, p.tokens[httpapi.Reader], "", field+": "+o.method)
				require.Equal(t, plain.status, a.status, "%s: GET with %s", o, field)
			}
			if o.role != httpapi.Public {
				plain := send(t, o.method+" "+at+"/healthz", "", "")
				a := send(t, o.method+" "+at+"/healthz", "", "",
					"X-Original-URL: "+o.path, "X-Rewrite-URL: "+o.path, "X-Forwarded-Uri: "+o.path)
				require.Equal(t, plain.status, a.status, "%s by X-Original-URL", o)
				require.Equal(t, plain.body, a.body, "%s by X-Original-URL", o)
			}
		}
	})
}

func isPublicPost(path string) bool { return strings.HasPrefix(path, "/.enablers/sign-") }

// TestPaths_forwardedAddress_isNotBelieved has callers claim to be on this machine.
func TestPaths_forwardedAddress_isNotBelieved(t *testing.T) {
	eachSharedListener(t, func(t *testing.T, _ *process, at string) {
		for _, o := range operations(t, at) {
			if o.role == httpapi.Public {
				continue
			}
			a := send(t, o.method+" "+o.url, "", "", "X-Forwarded-For: 127.0.0.1", "Forwarded: for=127.0.0.1", "X-Real-Ip: 127.0.0.1",
				"X-Forwarded-User: admin", "X-Remote-User: admin", "X-Consumer-Username: admin", "X-Client-Cert: admin", "X-Role: admin")
			require.Equal(t, http.StatusUnauthorized, a.status, o)
		}
	})
}

// otherMethods are methods that no document has.
var otherMethods = []string{"TRACE", "TRACK", "CONNECT", "PROPFIND", "DEBUG", "get", "Get", "PURGE", "MOVE", "LINK"}

// TestPaths_otherMethods_reachNothing asks for every route by methods that it does not have.
func TestPaths_otherMethods_reachNothing(t *testing.T) {
	eachSharedListener(t, func(t *testing.T, _ *process, at string) {
		w := newWire(t, at)
		for _, o := range operations(t, at) {
			for _, method := range otherMethods {
				a := w.ask(method, o.path, "X-Secret: reflected")
				require.False(t, a.status < 400 && a.status != 0, "%s %s: %d", method, o.path, a.status)
				require.NotContains(t, a.body, "reflected", "%s %s", method, o.path)
			}
		}
	})
}
