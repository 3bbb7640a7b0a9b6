package s3_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage/s3"
)

// gate stands between a store and its server, where a rule may answer a request
// itself or cut it off.
type gate struct {
	address string
	rule    atomic.Pointer[rule]
	cuts    atomic.Int64 // answers that were cut off
}

// rule returns true when it has answered.
type rule func(w http.ResponseWriter, r *http.Request) bool

func newGate(t *testing.T, server *server) *gate {
	t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: server.Address()})
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	g := new(gate)
	g.set(func(http.ResponseWriter, *http.Request) bool { return false })
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !(*g.rule.Load())(w, r) {
			proxy.ServeHTTP(w, r) // keeps the Host that is signed
		}
	}))
	t.Cleanup(front.Close)
	g.address = front.Listener.Addr().String()
	return g
}

func (g *gate) set(r rule) { g.rule.Store(&r) }

// through returns a configuration that goes through the gate.
func (g *gate) through(config s3.Config) s3.Config {
	config.Endpoint = g.address
	config.Region = "us-east-1" // so that no request asks for it
	config.Attempts = 3
	return config
}

// refuse answers as S3 does when it refuses.
func refuse(w http.ResponseWriter, status int, code string) bool {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>said by the gate</Message></Error>", code)
	return true
}

// hangUp ends the connection within the request or the answer.
func hangUp() bool { panic(http.ErrAbortHandler) }

// uploadsPart reports whether the request uploads a part of a multipart upload.
func uploadsPart(r *http.Request) bool {
	return r.Method == http.MethodPut && r.URL.Query().Has("partNumber")
}

// readsBytes reports whether the request reads the bytes of a blob.
func readsBytes(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/bytes/")
}

// cutAnswer sends a part of the server's answer and hangs up.
func (g *gate) cutAnswer(t *testing.T, server *server, w http.ResponseWriter, r *http.Request, after int64) bool {
	request, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+server.Address()+r.URL.RequestURI(), nil)
	require.NoError(t, err)
	request.Header, request.Host = r.Header.Clone(), r.Host
	answer, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = io.CopyN(w, answer.Body, after)
	_ = http.NewResponseController(w).Flush()
	g.cuts.Add(1)
	return hangUp()
}
