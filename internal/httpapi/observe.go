package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/internal/tracing"
)

// RequestIDHeader carries the identifier of a request. A client may choose
// it; the answer and the log repeat it.
const RequestIDHeader = "X-Request-Id"

// observe gives each request an identifier, logs it at debug level, counts it, creates a span
// of it where the process traces, and answers a panicking handler's request with 500.
func (s *server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		id := requestID(r)
		w.Header().Set(RequestIDHeader, id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		recorder := &recorder{ResponseWriter: w, method: knownMethod(r.Method)}
		r = s.instrument(recorder, r)
		defer func() { recorder.finish(r, time.Since(begin)) }() // also if the next one panics
		defer func() {
			if cause := recover(); cause != nil {
				s.recovered(recorder, r, id, cause)
			}
			s.Logger.DebugContext(r.Context(), "request", "id", id, "method", r.Method, "path", recorder.prefix+r.URL.Path,
				"status", recorder.status, "bytes", recorder.bytes, "duration", time.Since(begin))
		}()
		next.ServeHTTP(recorder, r)
	})
}

// instrument prepares the recorder for counting and tracing. It returns the request with the
// context of its span.
func (s *server) instrument(w *recorder, r *http.Request) *http.Request {
	ctx := r.Context()
	common := InstrumentsOf(ctx)
	if common == nil {
		common = &s.own
		ctx = WithInstruments(ctx, common)
	}
	w.traffic, w.prefix = common.Traffic, strippedPrefix(ctx)
	if common.Tracer.On() && !isProbe(r.URL.Path) {
		remote := tracing.Context{
			Parent: r.Header.Get(tracing.ParentField), State: strings.Join(r.Header.Values(tracing.StateField), ","),
		}
		ctx, w.span = common.Tracer.Continue(ctx, remote, w.method, tracing.Server)
		w.span.Text("url.path", w.prefix+r.URL.Path)
		w.span.Text("network.protocol.version", strings.TrimPrefix(r.Proto, "HTTP/"))
	}
	w.copied = w.prefix != "" || ctx != r.Context() // StripPrefix has copied it
	if ctx == r.Context() {
		return r
	}
	return r.WithContext(ctx)
}

// isProbe reports whether the path is asked for every few seconds, where spans are of no use.
func isProbe(path string) bool { return path == "/healthz" || path == "/readyz" || path == "/metrics" }

func (s *server) recovered(w *recorder, r *http.Request, id string, cause any) {
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		w.broken = true
		panic(cause) // net/http's own way of breaking off
	}
	s.Logger.ErrorContext(r.Context(), "handler panicked", "id", id, "method", r.Method, "path", w.prefix+r.URL.Path,
		"cause", cause, "stack", string(debug.Stack()))
	if w.status != 0 {
		w.broken = true
		panic(http.ErrAbortHandler) // half an answer must not look like a whole one
	}
	s.WriteError(w, r, &Error{Status: http.StatusInternalServerError, Err: fmt.Errorf("panic: %v", cause)})
}

// requestID returns the client's identifier if it is short and printable.
func requestID(r *http.Request) string {
	id := r.Header.Get(RequestIDHeader)
	plain := func(r rune) bool { return r > ' ' && r < 0x7f }
	if id == "" || len(id) > 128 || strings.ContainsFunc(id, func(r rune) bool { return !plain(r) }) {
		return uuid.NewString()
	}
	return id
}

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
	broken bool // off, before the end of the answer
	copied bool // the request is not the server's own

	method  string
	prefix  string // of all routes, from StripPrefix
	route   string // empty until a route takes the request
	traffic *Traffic
	open    *atomic.Int64 // of the route; nil without one
	span    tracing.Span
}

// take notes which route answers.
func (r *recorder) take(pattern string) {
	_, path, found := strings.Cut(pattern, " ")
	if !found {
		path = pattern
	}
	path = r.prefix + path
	r.route = path
	r.open = r.traffic.begin(r.method, path)
	if r.span.On() {
		r.span.Rename(r.method + " " + path)
		r.span.Text("http.route", path)
	}
}

// finish counts the request and ends its span.
func (r *recorder) finish(request *http.Request, took time.Duration) {
	if r.copied && request.MultipartForm != nil {
		_ = request.MultipartForm.RemoveAll() // as the server does with its own; the error cannot be reported
	}
	status := r.status
	if status == 0 && !r.broken {
		status = http.StatusOK
	}
	if r.open != nil {
		r.open.Add(-1)
	}
	r.traffic.end(trafficKey{r.method, cmp.Or(r.route, Other), status}, took)
	if r.span.On() {
		method := r.method
		if method == Other {
			method = "_OTHER"
		}
		r.span.Text("http.request.method", method)
		r.span.Number("http.response.status_code", int64(status))
		if status >= 500 || r.broken {
			r.span.Fail(fmt.Errorf("%d %s", status, http.StatusText(status)))
		}
	}
	r.span.End()
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= 200 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(data []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(data)
	r.bytes += int64(n)
	return n, err
}

// ReadFrom leaves copying to the writer below, which can let the kernel do it.
func (r *recorder) ReadFrom(from io.Reader) (int64, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := io.Copy(r.ResponseWriter, from)
	r.bytes += n
	return n, err
}

// Unwrap lets http.ResponseController find the writer below.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
