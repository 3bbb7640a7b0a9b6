package portal

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// entrance is how people sign in: here, or in the program around the portal.
type entrance interface {
	// visit returns the user of a request. The error matches ErrSignedOut for a browser that
	// is not signed in.
	visit(r *http.Request) (*visitor, error)
	// address is where the person that sends a request signs in, and comes back from.
	address(r *http.Request) string
	// person returns who looks at the page of a request; v is nil for a browser that is not
	// signed in. known is the person that the shell knows.
	person(r *http.Request, known shell.Person, v *visitor) shell.Person
	// formTarget is another origin to which forms may lead, empty if there is none.
	formTarget(ctx context.Context) string
	// routes are those at which people sign in and out.
	routes() []httpapi.Route
}

// elsewhere is the entrance where the program around the portal signs people in.
type elsewhere struct{ config Config }

var _ entrance = elsewhere{}

func (e elsewhere) visit(r *http.Request) (*visitor, error) {
	tokens, err := e.config.SignedIn(r)
	var who *oidc.Claims
	if err == nil {
		who, err = e.config.Verifier.Verify(r.Context(), tokens.Access)
		if err != nil && !errors.Is(err, oidc.ErrUnreachable) {
			return nil, fmt.Errorf("%w: %w", ErrSignedOut, err) // it has expired meanwhile
		}
	}
	switch {
	case errors.Is(err, oidc.ErrUnreachable):
		return nil, &httpapi.Error{Status: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"5"}},
			Detail: "The identity provider cannot be reached. Please try again.", Err: err}
	case err != nil:
		return nil, err
	}
	return e.config.visitorOf(who, tokens), nil
}

func (e elsewhere) address(r *http.Request) string { return e.addressFor(r.RequestURI) }

// addressFor is where a person signs in who wants to go to a path of the server.
func (e elsewhere) addressFor(to string) string {
	return e.config.SignIn + "?" + url.Values{"to": {to}}.Encode()
}

func (e elsewhere) person(r *http.Request, known shell.Person, v *visitor) shell.Person {
	switch {
	case v != nil:
		return shell.Person{Name: v.User, SignOut: e.config.SignOut}
	case known.Name == "":
		return shell.Person{SignIn: e.address(r)} // also where other pages are open
	}
	known.OpenTo = "" // the portal asks for an account in any case
	return known
}

func (elsewhere) formTarget(context.Context) string { return "" }

func (e elsewhere) routes() []httpapi.Route {
	return []httpapi.Route{{Pattern: "GET /login", Func: e.login}, {Pattern: "POST /logout", Func: e.logout}}
}

func (e elsewhere) login(w http.ResponseWriter, r *http.Request) error {
	address, _, _ := strings.Cut(r.RequestURI, "?")
	mount := strings.TrimSuffix(address, r.URL.EscapedPath())
	seeOther(w, e.addressFor(mount+localPath(r.URL.Query().Get("back"))))
	return nil
}

// logout has the browser send the form on to where the program ends sessions.
func (e elsewhere) logout(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Location", e.config.SignOut)
	w.WriteHeader(http.StatusTemporaryRedirect)
	return nil
}
