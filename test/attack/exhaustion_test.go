package attack_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// huge is the length of a body in bytes that no server has room for.
const huge int64 = 1 << 40

// TestExhaustion_hugeBodies_areBounded announces a body of a tebibyte to every operation, as an
// administrator, and sends it as far as the server reads it.
func TestExhaustion_hugeBodies_areBounded(t *testing.T) {
	eachListener(t, func(t *testing.T, p *process, at string) {
		for i, o := range operations(t, at) {
			if !o.hasBody() {
				continue
			}
			for _, kind := range append(o.kinds, o.foreign(i, bodyKinds)) {
				if kind == "multipart/form-data" {
					kind += "; boundary=b"
				}
				for _, framing := range []string{fmt.Sprintf("Content-Length: %d", huge), "Transfer-Encoding: chunked"} {
					w := newWire(t, at)
					require.NoError(t, w.write(fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\n"+
						"%s\r\nUpload-Offset: 0\r\nTus-Resumable: 1.0.0\r\nExpect: 100-continue\r\n\r\n",
						o.method, o.path, w.host, p.tokens[httpapi.Admin], kind, framing)))
					a := w.read(o.method)
					whole := false
					if a.status == http.StatusContinue {
						a, whole = w.pour(o.method, kind, strings.HasPrefix(framing, "Transfer"))
					}
					w.close()
					require.False(t, whole, "%s reads a body of any length as %s (%s)", o, kind, framing)
					require.True(t, o.isHandled(a), "%s as %s: %d %s", o, kind, a.status, a.body)
				}
			}
		}
		require.Equal(t, http.StatusOK, send(t, "GET "+at+"/healthz", "", "").status)
	})
}

// bodyKinds are the media types that some operation reads.
var bodyKinds = []string{
	"application/json", "multipart/form-data", "application/x-www-form-urlencoded", "application/octet-stream",
	"application/offset+octet-stream", "application/x-tar", "text/plain", "text/turtle", "text/yaml",
}

// foreign returns one of the media types that the operation does not declare, another one for another number.
func (o operation) foreign(n int, kinds []string) string {
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return slices.Contains(o.kinds, kind) })
	return kinds[n%len(kinds)]
}

// most is how many bytes of a body a server may read before it refuses it: more than the largest limit, which
// is that of a public context (64 MiB, in base64).
const most = 128 << 20

// pour sends up to most bytes of a body, and returns the answer, and whether the server has read all
// of them before it. The answer is empty if the server closes the connection.
func (w *wire) pour(method, kind string, chunked bool) (a answer, whole bool) {
	w.t.Helper()
	text := "["
	if strings.HasPrefix(kind, "multipart/") {
		text = "--b\r\nContent-Disposition: form-data; name=\"content\"; filename=\"f\"\r\n\r\n"
	}
	conn := w.conn
	var all atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		begin, piece := text, strings.Repeat(" ", 1<<20)
		if chunked {
			begin = fmt.Sprintf("%x\r\n%s\r\n", len(text), text)
			piece = fmt.Sprintf("%x\r\n%s\r\n", len(piece), piece)
		}
		_, err := io.WriteString(conn, begin)
		for range most >> 20 {
			if err == nil {
				_, err = io.WriteString(conn, piece)
			}
		}
		all.Store(err == nil)
		_ = conn.(*net.TCPConn).CloseWrite() // has an error if the server has closed the connection
	}()
	a = w.read(method)
	whole = all.Load()
	w.close()
	<-done
	return a, whole
}

// TestExhaustion_hugeHeaders_areRefused sends long targets, long fields and many of them to every
// listener, without a token.
func TestExhaustion_hugeHeaders_areRefused(t *testing.T) {
	eachSharedCommand(t, func(t *testing.T, p *process) {
		many := make([]string, 0, 20_000)
		for i := range cap(many) {
			many = append(many, fmt.Sprintf("X-%d: x", i))
		}
		for _, at := range p.at {
			for name, fields := range map[string][]string{
				"a field":  {"X-Long: " + strings.Repeat("x", 1<<20)},
				"fields":   many,
				"a cookie": {"Cookie: a=" + strings.Repeat("b; ", 1<<18)},
				"a token":  {"Authorization: Bearer " + strings.Repeat("x", 1<<20)},
			} {
				w := newWire(t, at)
				a := w.ask(http.MethodGet, "/healthz", fields...)
				// 0: the connection was closed while the request was sent.
				require.Contains(t, []int{http.StatusRequestHeaderFieldsTooLarge, 0}, a.status, "%s at %s", name, at)
			}
			w := newWire(t, at)
			a := w.ask(http.MethodGet, "/healthz?"+strings.Repeat("a=b&", 1<<18))
			require.Contains(t, []int{http.StatusRequestHeaderFieldsTooLarge, 0}, a.status, "a query at %s", at)
		}
	})
}

// hostileBodies are small and take much where they are read without bounds. Those of a media type go to the
// operations that declare it, and one further body to each.
var hostileBodies = []hostileBody{
	{"deep arrays", "application/json", strings.Repeat("[", 200_000)},
	{"deep objects", "application/json", strings.Repeat(`{"a":`, 100_000)},
	{"deep text in a member", "application/json", `{"name":` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + "}"},
	{"a long number", "application/json", `{"a":1` + strings.Repeat("0", 500_000) + `}`},
	{"a large exponent", "application/json", `{"a":1e999999999,"port":1e99,"limit":-1e400}`},
	{"one member often", "application/json", "{" + strings.Repeat(`"a":1,`, 100_000) + `"a":1}`},
	{"no text", "application/json", "\xff\xfe\x00\x00"},
	{"null", "application/json", "null"},
	{"a surrogate", "application/json", `"\ud800"`},
	{"a prototype", "application/json", `{"__proto__":{"role":"admin"},"constructor":{"prototype":{}}}`},
	{"aliases", "text/yaml", aliases()},
	{"entities", "application/xml", `<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd"><!ENTITY c "&b;&b;&b;">]><a>&c;</a>`},
	{
		"many parts", "multipart/form-data",
		strings.Repeat("--b\r\nContent-Disposition: form-data; name=x\r\n\r\n\r\n", 20_000) + "--b--\r\n",
	},
	{"a part with a long head", "multipart/form-data", "--b\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n\r\n--b--\r\n"},
	{
		"a part without an end", "multipart/form-data",
		"--b\r\nContent-Disposition: form-data; name=\"content\"; filename=\"../../x\"\r\n\r\nx",
	},
	{"many fields", "application/x-www-form-urlencoded", strings.Repeat("a=b&", 200_000)},
}

type hostileBody struct{ name, kind, body string }

// aliases returns YAML whose last member stands for more than a million values.
func aliases() string {
	text := "a0: &a0 [x,x]\n"
	for i := range 7 {
		text += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 7), i)
	}
	return text
}

// TestExhaustion_hostileBodies_takeNothingDown sends small bodies that are hard to read to every
// operation, as an administrator: each is an error of the client, and the server
// goes on.
func TestExhaustion_hostileBodies_takeNothingDown(t *testing.T) {
	eachListener(t, func(t *testing.T, p *process, at string) {
		for i, o := range operations(t, at) {
			if !o.hasBody() || o.path == "/.enablers/sign-in" {
				continue
			}
			declared, foreign := []hostileBody{}, []hostileBody{}
			for _, hostile := range hostileBodies {
				if slices.Contains(o.kinds, hostile.kind) {
					declared = append(declared, hostile)
				} else {
					foreign = append(foreign, hostile)
				}
			}
			for _, hostile := range append(declared, foreign[i%len(foreign)]) { // another one for each operation
				kind := strings.Replace(hostile.kind, "multipart/form-data", "multipart/form-data; boundary=b", 1)
				a := send(t, o.method+" "+o.url, p.tokens[httpapi.Admin], hostile.body, "Content-Type: "+kind)
				require.True(t, o.isHandled(a), "%s with %s: %d %s", o, hostile.name, a.status, a.body)
			}
		}
		require.Equal(t, http.StatusOK, send(t, "GET "+at+"/healthz", "", "").status)
		require.NotContains(t, p.Output(), "panic")
	})
}

// hasBody reports whether requests of the operation have a body.
func (o operation) hasBody() bool {
	return o.method == http.MethodPost || o.method == http.MethodPut || o.method == http.MethodPatch
}

// isHandled reports whether an answer is not a failure of the server. A server may lack what an operation is
// about (501), or be too busy (503).
func (o operation) isHandled(a answer) bool {
	return a.status < http.StatusInternalServerError || a.status == http.StatusNotImplemented || a.status == http.StatusServiceUnavailable
}

// TestExhaustion_compressedBodies_areNotExpanded sends a body that says it is compressed. No server
// expands it before its limit.
func TestExhaustion_compressedBodies_areNotExpanded(t *testing.T) {
	eachListener(t, func(t *testing.T, p *process, at string) {
		for _, o := range operations(t, at) {
			if !o.hasBody() || strings.HasPrefix(o.path, "/.enablers/") {
				continue
			}
			a := send(t, o.method+" "+o.url, p.tokens[httpapi.Admin], bomb(), "Content-Type: application/json", "Content-Encoding: gzip")
			require.True(t, o.isHandled(a), "%s: %d %s", o, a.status, a.body)
		}
	})
}

// TestExhaustion_manyRanges_areNoLargerThanTheContent asks for the same bytes many times over.
func TestExhaustion_manyRanges_areNoLargerThanTheContent(t *testing.T) {
	eachSharedListener(t, func(t *testing.T, p *process, at string) {
		found := 0
		for _, path := range []string{"/openapi.json", "/docs/swagger-ui.css", "/.enablers/page/look.css"} {
			token, ranges := p.tokens[httpapi.Admin], "Range: bytes=0-"+strings.Repeat(",0-", 1000)
			whole := send(t, "GET "+at+path, token, "")
			if whole.status == http.StatusNotFound {
				continue
			}
			found++
			require.Equal(t, http.StatusOK, whole.status, path)
			part := send(t, "GET "+at+path, token, "", ranges)
			require.Contains(t, []int{http.StatusOK, http.StatusPartialContent, http.StatusRequestedRangeNotSatisfiable}, part.status, path)
			require.LessOrEqual(t, len(part.body), len(whole.body)+1024, path)
		}
		require.Positive(t, found, "the listener has no content")
	})
}

// bomb is 64 MiB of zeros, compressed.
var bomb = sync.OnceValue(func() string {
	var text strings.Builder
	w := gzip.NewWriter(&text)
	blank := make([]byte, 1<<20)
	for range 64 {
		_, _ = w.Write(blank) // a builder takes all
	}
	_ = w.Close() // likewise
	return text.String()
})
