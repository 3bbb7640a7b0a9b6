package httpapi

import (
	"log/slog"
	"net/http"
	"strings"
)

// HandlerFunc answers a request or returns why it cannot. Having written an
// answer it must return nil.
type HandlerFunc func(w http.ResponseWriter, r *http.Request) error

// Route is one row of a route table.
type Route struct {
	// Pattern is a pattern of [http.ServeMux] with a method, such as
	// "GET /channels/{id}". It also answers GET routes' HEAD requests, and the
	// path with a slash at its end.
	Pattern string
	// Func answers.
	Func HandlerFunc
	// Undocumented says that the route is not part of the API proper, and so
	// not in its OpenAPI document: a page for people, or its assets.
	Undocumented bool
}

// Handler adapts an http.Handler to a route.
func Handler(h http.Handler) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		h.ServeHTTP(w, r)
		return nil
	}
}

// Options tunes [NewHandler]. The zero value is ready for use.
type Options struct {
	// Classify says what a client gets for an error that is no [*Error]. Nil,
	// or a nil result, means status 500 without details.
	Classify func(error) *Error
	// WriteError writes an error to the client. Nil means WriteTextError.
	WriteError func(w http.ResponseWriter, r *http.Request, e *Error)
	// Logger receives every request at debug level and every error of our own
	// making at error level. Nil is silent.
	Logger *slog.Logger
}

// NewHandler returns a handler that serves the routes. Requests for other
// paths get a 404, for other methods a 405 with an Allow header. It panics on
// patterns that are malformed or contradict each other, as ServeMux does:
// that is a mistake in the program. opts may be nil.
func NewHandler(routes []Route, opts *Options) http.Handler {
	if opts == nil {
		opts = &Options{}
	}
	s := &server{Options: *opts}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	if s.WriteError == nil {
		s.WriteError = WriteTextError
	}
	mux := http.NewServeMux()
	for _, route := range routes {
		handler := s.adapt(route.Func)
		mux.Handle(route.Pattern, handler)
		if !strings.HasSuffix(route.Pattern, "/") && !strings.HasSuffix(route.Pattern, "...}") && !strings.HasSuffix(route.Pattern, "{$}") {
			if !hasPattern(routes, route.Pattern+"/") {
				mux.Handle(route.Pattern+"/{$}", handler)
			}
		}
	}
	return s.observe(mux)
}

func hasPattern(routes []Route, pattern string) bool {
	for _, route := range routes {
		if route.Pattern == pattern {
			return true
		}
	}
	return false
}

type server struct{ Options }

// adapt makes an http.Handler of a handler that returns errors.
func (s *server) adapt(f HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := f(w, r)
		if err == nil {
			return
		}
		e := classified(err, s.Classify)
		if e.Status >= 500 {
			s.Logger.Error("request failed", "id", w.Header().Get(RequestIDHeader),
				"method", r.Method, "path", r.URL.Path, "status", e.Status, "error", err)
		}
		s.WriteError(w, r, e)
	})
}
