package shell

import (
	"context"
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// Shell says what the pages of a program have in common.
type Shell struct {
	// Name is the name of the program, or of the platform that it runs.
	Name string
	// Home is the address of the first page. Empty means that of the part.
	Home string
	// Sections returns the sections in the order of the header.
	Sections func(r *http.Request) []Section
	// Person returns who sends a request. Nil means that callers are not identified.
	Person func(r *http.Request) Person
}

// Section is an entry of the header.
type Section struct {
	// Name is what the header shows, and the name of its [Part].
	Name string
	// Href is its address.
	Href string
	// Parts are what it consists of, if there are several.
	Parts []Section
	// Current reports whether the page belongs to it. The page sets it.
	Current bool
}

// Person is who looks at a page.
type Person struct {
	// Name is empty for a caller that has not signed in.
	Name string
	// Role is what the person may do, unless OpenTo says more.
	Role httpapi.Role
	// OpenTo says who may do everything without signing in, such as "this machine". Empty
	// means that the role decides.
	OpenTo string
	// SignIn is the address at which to sign in or to see the own account. Empty means
	// that there is none.
	SignIn string
	// SignOut is the address of the form that ends the session. Empty means that there is
	// none.
	SignOut string
}

type contextKey struct{}

// With returns a handler whose pages have this frame.
func (s *Shell) With(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), contextKey{}, s)))
	})
}

// of returns the shell around a request, nil without one.
func of(r *http.Request) *Shell {
	s, _ := r.Context().Value(contextKey{}).(*Shell)
	return s
}
