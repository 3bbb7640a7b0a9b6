package httpapi

import (
	"fmt"
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
	// Role is what a caller has to be, if [Options.Authorize] is given. Empty means
	// Reader for the methods GET, HEAD and OPTIONS, and Operator for all others.
	Role Role
	// Origins says which web pages may have a browser send requests. The zero
	// value lets pages of other origins send GET, HEAD and OPTIONS.
	Origins Origins
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
	// Classify says what a client gets for an error that is not an [*Error]. Nil,
	// or a nil result, means status 500 without details.
	Classify func(error) *Error
	// WriteError writes an error to the client, also for requests that no
	// route is for. Nil means WriteTextError, and the words of ServeMux for
	// those.
	WriteError func(w http.ResponseWriter, r *http.Request, e *Error)
	// Hosts are further names of the server, besides its addresses, localhost and
	// all below .localhost: requests over loopback connections have to name one of
	// them, and get a 421 otherwise. A name with a scheme, such as
	// https://app.example.org, is an origin: its pages may send all requests, as
	// those of the server may, and read the answers (CORS). Nil means none. See [ParseHost].
	Hosts []string
	// Authorize returns nil if the caller that sends a request has the role "reader",
	// "operator" or "admin", and otherwise an error that refuses the request: an
	// [*Error] with its status and header fields, an error with a method HTTPStatus() int
	// with that status, any other one with status 403. It is called after the checks of
	// Host and Origin, and never for public routes. Nil lets every caller use every route.
	Authorize func(r *http.Request, role string) error
	// Logger receives every request at debug level and every error of our own
	// making at error level; a 503 without a cause is a limit, and no error. Nil is
	// silent.
	Logger *slog.Logger
	// Traffic counts the requests that carry no [Instruments]. Nil means one of the handler's
	// own: it is for handlers that share an address.
	Traffic *Traffic
}

// NewHandler returns a handler that serves the routes. Requests for other
// paths get a 404, for other methods a 405 with an Allow header. It panics on
// patterns that are malformed or contradict each other, as ServeMux does:
// that is a mistake in the program. opts may be nil.
//
// Requests that a web page elsewhere has a browser send are refused, see
// [Route.Origins] and [Options.Hosts]. Programs can send all.
func NewHandler(routes []Route, opts *Options) http.Handler {
	if opts == nil {
		opts = &Options{}
	}
	s := &server{Options: *opts, guard: newGuard(opts.Hosts)}
	if s.own.Traffic = opts.Traffic; s.own.Traffic == nil {
		s.own.Traffic = &Traffic{}
	}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	if s.WriteError == nil {
		s.WriteError = WriteTextError
	}
	mux := http.NewServeMux()
	for _, route := range routes {
		handler := &routed{route, s}
		mux.Handle(route.Pattern, handler)
		if !strings.HasSuffix(route.Pattern, "/") && !strings.HasSuffix(route.Pattern, "...}") && !strings.HasSuffix(route.Pattern, "{$}") {
			if !hasPattern(routes, route.Pattern+"/") && !hasPattern(routes, route.Pattern+"/{$}") {
				mux.Handle(route.Pattern+"/{$}", handler)
			}
		}
	}
	answered := s.unmatched(mux)
	if opts.WriteError == nil {
		answered = s.explained(mux)
	}
	return s.observe(s.named(s.readable(mux, answered)))
}

// named refuses requests for hosts that are not this one.
func (s *server) named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e := s.guard.checkHost(r); e != nil {
			s.WriteError(w, r, e)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// unmatched answers what the mux has no route for in the server's own form of
// errors, and OPTIONS with the methods that there are (RFC 9110 section 9.3.7).
func (s *server) unmatched(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		var verdict verdict
		handler.ServeHTTP(&verdict, r)
		for _, name := range []string{"Allow", "Location"} {
			if value := verdict.Header().Get(name); value != "" {
				w.Header().Set(name, value)
			}
		}
		switch {
		case verdict.status < 400: // a redirect to the path without dots
			w.WriteHeader(verdict.status)
		case verdict.status == http.StatusMethodNotAllowed && r.Method == http.MethodOptions:
			w.Header().Set("Allow", w.Header().Get("Allow")+", "+http.MethodOptions)
			w.WriteHeader(http.StatusNoContent)
		default:
			s.WriteError(w, r, notRouted(verdict.status, w, r))
		}
	})
}

// explained answers requests with a method that their address does not take, and leaves all
// others to the mux.
func (s *server) explained(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, pattern := mux.Handler(r)
		var verdict verdict
		if pattern == "" {
			handler.ServeHTTP(&verdict, r)
		}
		if verdict.status != http.StatusMethodNotAllowed {
			mux.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Allow", verdict.Header().Get("Allow"))
		s.WriteError(w, r, notRouted(verdict.status, w, r))
	})
}

// notRouted returns the error of a request that no route takes. The header of the answer has
// the methods that the address takes.
func notRouted(status int, w http.ResponseWriter, r *http.Request) *Error {
	e := &Error{Status: status}
	if status == http.StatusMethodNotAllowed {
		e.Hint = fmt.Sprintf("This address takes %s, not %.20q.", w.Header().Get("Allow"), r.Method)
	}
	return e
}

// verdict is what the mux would answer.
type verdict struct {
	header http.Header
	status int
}

func (v *verdict) Header() http.Header {
	if v.header == nil {
		v.header = http.Header{}
	}
	return v.header
}

func (v *verdict) WriteHeader(status int) { v.status = status }

func (v *verdict) Write(data []byte) (int, error) { return len(data), nil }

func hasPattern(routes []Route, pattern string) bool {
	for _, route := range routes {
		if route.Pattern == pattern {
			return true
		}
	}
	return false
}

type server struct {
	Options
	guard *guard
	own   Instruments // for requests that carry none
}

// routed is an http.Handler of a route whose function returns errors.
type routed struct {
	Route
	server *server
}

// ServeHTTP implements http.Handler.
func (h *routed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := h.server
	if recorder, ok := w.(*recorder); ok { // from observe
		recorder.take(h.Pattern)
	}
	if e := s.guard.checkOrigin(r, h.Origins); e != nil {
		s.WriteError(w, r, e)
		return
	}
	if e := s.authorize(r, h.Route); e != nil {
		s.refuse(w, r, e)
		return
	}
	err := h.Func(w, r)
	if err == nil {
		return
	}
	e := classified(err, s.Classify)
	busy := e.Status == http.StatusServiceUnavailable && e.Err == nil // on purpose: no error of ours
	if e.Status >= 500 && !busy {
		s.Logger.ErrorContext(r.Context(), "request failed", "id", w.Header().Get(RequestIDHeader),
			"method", r.Method, "path", r.URL.Path, "status", e.Status, "error", err)
	}
	s.WriteError(w, r, e)
}
