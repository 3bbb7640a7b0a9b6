package attack_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// The begins of requests to the one route of the gateway; H stands for its host.
const (
	posted = "POST /open HTTP/1.1\r\nHost: H\r\n"
	got    = "GET /open HTTP/1.1\r\nHost: H\r\n"
)

// ambiguous are requests whose end two servers may see in different places (RFC 9112 sections 6.1 and
// 11.2). HIDDEN stands for a request that has to stay inside of the body or be refused; its
// path has no route at the gateway.
var ambiguous = []struct{ name, text string }{
	{"CL.TE", posted + "Content-Length: LENGTH\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nHIDDEN"},
	{"TE.CL", posted + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\nHEX\r\nHIDDEN\r\n0\r\n\r\n"},
	{"CL.CL", posted + "Content-Length: 0\r\nContent-Length: LENGTH\r\n\r\nHIDDEN"},
	{"CL list", posted + "Content-Length: 0, LENGTH\r\n\r\nHIDDEN"},
	{"CL with a sign", posted + "Content-Length: +LENGTH\r\n\r\nHIDDEN"},
	{"CL in hexadecimal", posted + "Content-Length: 0x00\r\n\r\nHIDDEN"},
	{"CL with a space before the colon", posted + "Content-Length : LENGTH\r\n\r\nHIDDEN"},
	{"CL of GET", got + "Content-Length: LENGTH\r\n\r\nHIDDEN"},
	{"TE unknown", posted + "Transfer-Encoding: xchunked\r\nContent-Length: LENGTH\r\n\r\nHIDDEN"},
	{"TE twice", posted + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\nHIDDEN"},
	{"TE list", posted + "Transfer-Encoding: identity, chunked\r\nContent-Length: LENGTH\r\n\r\nHIDDEN"},
	{"TE with a tab", posted + "Transfer-Encoding:\tchunked\r\nContent-Length: LENGTH\r\n\r\nHIDDEN"},
	{"TE with a vertical tab", posted + "Transfer-Encoding: \x0bchunked\r\nContent-Length: LENGTH\r\n\r\nHIDDEN"},
	{"TE with a space before the colon", posted + "Transfer-Encoding : chunked\r\nContent-Length: LENGTH\r\n\r\nHIDDEN"},
	{"TE folded", posted + "Transfer-Encoding:\r\n chunked\r\nContent-Length: LENGTH\r\n\r\nHIDDEN"},
	{"TE of HTTP/1.0", "POST /open HTTP/1.0\r\nHost: H\r\n" +
		"Connection: keep-alive\r\nTransfer-Encoding: chunked\r\nContent-Length: LENGTH\r\n\r\nHIDDEN"},
	{"a field folded", got + "X: a\r\n HIDDEN"},
	{"a bare line feed", "GET /open HTTP/1.1\nHost: H\nX: a\nContent-Length: LENGTH\n\nHIDDEN"},
	{"a bare carriage return", got + "X: a\rContent-Length: LENGTH\r\n\r\nHIDDEN"},
	{"a chunk extension with a line feed", posted + "Transfer-Encoding: chunked\r\n\r\n1;a\nX\r\n0\r\n\r\nHIDDEN"},
	{"a chunk longer than it says", posted + "Transfer-Encoding: chunked\r\n\r\n1\r\nXXHIDDEN"},
	{"a chunk of a huge size", posted + "Transfer-Encoding: chunked\r\n\r\n10000000000000001\r\nX\r\n0\r\n\r\nHIDDEN"},
	{"a trailer", posted + "Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n0\r\nContent-Length: LENGTH\r\n\r\nHIDDEN"},
	{"a line in the target", "GET /open%20HTTP/1.1%0d%0aHost:%20H%0d%0a%0d%0aHIDDEN HTTP/1.1\r\nHost: H\r\n\r\n"},
	{"two hosts", got + "Host: evil.example\r\n\r\nHIDDEN"},
	{"Connection that names CL", posted + "Connection: Content-Length\r\nContent-Length: LENGTH\r\n\r\nHIDDEN"},
	{"Upgrade to HTTP/2", got + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n" +
		"HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\nHIDDEN"},
	{"Upgrade to a socket", got + "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 777\r\n\r\nHIDDEN"},
}

// hidden is what the attacker hides.
const hidden = "DELETE /hidden HTTP/1.1\r\nHost: H\r\nX: "

// render returns the text of an ambiguous request for a host.
func render(text, host string) string {
	inside := strings.ReplaceAll(hidden, "Host: H", "Host: "+host)
	return strings.NewReplacer("HIDDEN", inside, "LENGTH", fmt.Sprint(len(inside)), "HEX", fmt.Sprintf("%x", len(inside)),
		"Host: H\r", "Host: "+host+"\r", "Host: H\n", "Host: "+host+"\n").Replace(text)
}

// upstream is a service behind the gateway that notes the request lines it reads.
type upstream struct {
	net.Listener

	mu    sync.Mutex
	lines []string
}

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	u := &upstream{Listener: listener}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.mu.Lock()
		u.lines = append(u.lines, r.Method+" "+r.RequestURI)
		u.mu.Unlock()
		_, _ = io.Copy(io.Discard, r.Body) // what is broken ends the request
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return u
}

func (u *upstream) seen() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return strings.Join(u.lines, "\n")
}

// TestSmuggling_gateway_sendsNoHiddenRequest sends ambiguous requests through the gateway of every
// command that has one.
func TestSmuggling_gateway_sendsNoHiddenRequest(t *testing.T) {
	everyCommand(t, func(t *testing.T, c command) {
		if !c.hasGateway() {
			return
		}
		p, u := c.start(t), newUpstream(t)
		admin, gateway := p.at["admin"]+p.at["gateway admin"], p.at["gateway"]+p.at["API gateway"]
		service, err := json.Marshal(map[string]any{"name": "open", "url": "http://" + u.Addr().String()})
		require.NoError(t, err)
		a := send(t, "POST "+admin+"/services", p.tokens[httpapi.Admin], string(service), "Content-Type: application/json")
		require.Equal(t, http.StatusCreated, a.status, a.body)
		a = send(t, "POST "+admin+"/services/open/routes", p.tokens[httpapi.Admin], `{"paths":["/open"],"strip_path":false}`,
			"Content-Type: application/json")
		require.Equal(t, http.StatusCreated, a.status, a.body)
		require.Eventually(t, func() bool {
			return send(t, "GET "+gateway+"/open", "", "").status == http.StatusOK
		}, patience, 50*time.Millisecond)
		for _, one := range ambiguous {
			host := strings.TrimPrefix(gateway, "http://")
			conversation(t, host, render(one.text, host)+"x\r\n\r\n")
			a := send(t, "GET "+gateway+"/open?after", "", "")
			require.Equal(t, http.StatusOK, a.status, "%s: the next caller gets another's answer", one.name)
			for line := range strings.Lines(u.seen()) {
				require.Contains(t, line, " /open", "%s: the service has read a hidden request", one.name)
			}
		}
	})
}

func (c command) hasGateway() bool {
	for _, name := range c.listeners {
		if name == "gateway" || name == "API gateway" {
			return true
		}
	}
	return false
}

// conversation sends bytes over a connection and returns the statuses of all answers.
func conversation(t *testing.T, host, text string) (statuses []int) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", host, patience)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }() // the server may have closed it
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	_, _ = io.WriteString(conn, text)    // fails if the server refuses the begin
	_ = conn.(*net.TCPConn).CloseWrite() // likewise
	in := bufio.NewReader(conn)
	for {
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			return statuses
		}
		statuses = append(statuses, response.StatusCode)
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			return statuses
		}
	}
}

// TestSmuggling_servers_refuseAmbiguousRequests sends requests whose end or whose server is not clear to
// every listener: each is refused, and the connection ends.
func TestSmuggling_servers_refuseAmbiguousRequests(t *testing.T) {
	eachSharedListener(t, func(t *testing.T, _ *process, at string) {
		host := strings.TrimPrefix(at, "http://")
		for _, text := range []string{
			"POST /x HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\nabcde",
			"POST /x HTTP/1.1\r\nHost: " + host + "\r\nContent-Length : 5\r\n\r\nabcde",
			"POST /x HTTP/1.1\r\nHost: " + host + "\r\nTransfer-Encoding: xchunked\r\n\r\nabcde",
			"POST /x HTTP/1.1\r\nHost: " + host + "\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
			"GET /x HTTP/1.1\r\nHost: " + host + "\r\nHost: evil.example\r\n\r\n",
			"GET /x HTTP/1.1\r\n\r\n", "GET /x HTTP/1.1\r\nHost: a b\r\n\r\n",
			"GET /x HTTP/1.1\r\nHost: " + host + "\r\nX\x00Y: z\r\n\r\n", "GET /x y HTTP/1.1\r\nHost: " + host + "\r\n\r\n",
		} {
			statuses := conversation(t, host, text)
			require.Len(t, statuses, 1, text)
			require.Contains(t, []int{http.StatusBadRequest, http.StatusNotImplemented, http.StatusUnsupportedMediaType}, statuses[0], text)
		}
	})
}
