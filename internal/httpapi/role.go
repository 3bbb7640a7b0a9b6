package httpapi

import (
	"errors"
	"net/http"
	"slices"
)

// Role is what a caller may do. Each role includes those before it.
type Role string

// The roles.
const (
	// Public is the role of every caller. A route for it is never refused: health
	// checks, the OpenAPI document, and what a sign-in page loads.
	Public Role = "public"
	// Reader may read.
	Reader Role = "reader"
	// Operator may also change what the server works on.
	Operator Role = "operator"
	// Admin may also see secrets, and change what protects the server.
	Admin Role = "admin"
)

// Roles returns the roles that callers can have. Each role includes those before it.
func Roles() []Role { return []Role{Reader, Operator, Admin} }

// rank orders the roles by what they include; it is negative for an unknown role.
func (r Role) rank() int {
	if r == Public {
		return 0
	}
	if i := slices.Index(Roles(), r); i >= 0 {
		return i + 1
	}
	return -1
}

// IsRole reports whether the text is a role that a caller can have.
func IsRole(text string) bool { return slices.Contains(Roles(), Role(text)) }

// Includes reports whether a caller of this role may do what the other role may. An
// unknown role includes nothing, and no role includes it.
func (r Role) Includes(other Role) bool { return other.rank() >= 0 && r.rank() >= other.rank() }

// role returns the role that a route requires of a request. A route that names none is
// for readers where the method is safe, and for operators otherwise.
func (r Route) role(method string) Role {
	if r.Role != "" {
		return r.Role
	}
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return Reader
	}
	return Operator
}

// authorize refuses a request whose caller may not use the route.
func (s *server) authorize(r *http.Request, route Route) *Error {
	role := route.role(r.Method)
	if s.Authorize == nil || role == Public {
		return nil
	}
	err := s.Authorize(r, string(role))
	if err == nil {
		return nil
	}
	var refusal *Error
	if errors.As(err, &refusal) {
		return refusal
	}
	var status interface{ HTTPStatus() int }
	if errors.As(err, &status) {
		return &Error{Status: status.HTTPStatus(), Detail: err.Error()}
	}
	return &Error{Status: http.StatusForbidden, Detail: err.Error()}
}

// refuse answers a request that [Options.Authorize] refuses.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, e *Error) {
	for name, values := range e.Header {
		w.Header()[name] = values
	}
	if to := e.Header.Get("Location"); e.Status == http.StatusSeeOther && to != "" {
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(e.Status)
		return
	}
	if e.Status == http.StatusUnauthorized && w.Header().Get("WWW-Authenticate") == "" {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	s.WriteError(w, r, e)
}
