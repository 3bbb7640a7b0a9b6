package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"
)

// RequestIDHeader carries the identifier of a request. A client may choose
// it; the answer and the log repeat it.
const RequestIDHeader = "X-Request-Id"

// observe gives each request an identifier, logs it at debug level, and
// answers a panicking handler's request with 500.
func (s *server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		id := requestID(r)
		w.Header().Set(RequestIDHeader, id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		recorder := &recorder{ResponseWriter: w}
		defer func() {
			if cause := recover(); cause != nil {
				s.recovered(recorder, r, id, cause)
			}
			s.Logger.Debug("request", "id", id, "method", r.Method, "path", r.URL.Path,
				"status", recorder.status, "bytes", recorder.bytes, "duration", time.Since(begin))
		}()
		next.ServeHTTP(recorder, r)
	})
}

func (s *server) recovered(w *recorder, r *http.Request, id string, cause any) {
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause) // net/http's own way of breaking off
	}
	s.Logger.Error("handler panicked", "id", id, "method", r.Method, "path", r.URL.Path,
		"cause", cause, "stack", string(debug.Stack()))
	if w.status != 0 {
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
