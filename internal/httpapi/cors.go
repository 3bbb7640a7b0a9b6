package httpapi

import (
	"net/http"
	"strings"
)

// preflightAge is how many seconds a browser may keep the answer to a preflight request.
const preflightAge = "600"

// readable lets pages of trusted origins read the answers, and answers their preflight requests
// (Fetch standard, section 3.2). Which of the requests are accepted is decided as for others.
// Routes for [AnyPages] say themselves who reads their answers.
//
// Cookies and client certificates of cross-origin requests are not allowed: the sessions of
// browsers are those of this server's pages, and other pages show a token.
func (s *server) readable(mux *http.ServeMux, next http.Handler) http.Handler {
	if len(s.guard.origins) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin") // of all answers, because a cache may have been asked by a page of this server
		asked := preflighted(r)
		if !s.guard.readsFromElsewhere(r) || isForAnyPages(mux, r, asked) {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		if asked == "" {
			h.Set("Access-Control-Expose-Headers", "*")
			next.ServeHTTP(w, r)
			return
		}
		// A method or a field that the route does not take gets an answer that says so.
		h.Set("Access-Control-Allow-Methods", asked)
		if fields := r.Header.Get("Access-Control-Request-Headers"); fields != "" {
			h.Set("Access-Control-Allow-Headers", fields)
		}
		h.Set("Access-Control-Max-Age", preflightAge)
		w.WriteHeader(http.StatusNoContent)
	})
}

// preflighted returns the method that a preflight request asks for, empty for other requests.
func preflighted(r *http.Request) string {
	if r.Method != http.MethodOptions || r.Header.Get("Origin") == "" {
		return ""
	}
	return r.Header.Get("Access-Control-Request-Method")
}

// isForAnyPages reports whether the route of a request is for pages of every origin, or that
// of the request which a preflight asks for.
func isForAnyPages(mux *http.ServeMux, r *http.Request, asked string) bool {
	request := *r
	if asked != "" {
		request.Method = asked
	}
	handler, _ := mux.Handler(&request)
	route, ok := handler.(*routed)
	return ok && route.Origins == AnyPages
}

// readsFromElsewhere reports whether a page of a trusted origin that is not this server's has
// sent a request. A server may have its own origin among the trusted ones.
func (g *guard) readsFromElsewhere(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if !g.origins[origin] {
		return false
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site != "same-origin"
	}
	return !strings.HasSuffix(origin, "://"+strings.ToLower(r.Host))
}
