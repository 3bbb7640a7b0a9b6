package portal

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// visitor is the user of a request.
type visitor struct {
	User, Role string
	Developer  bool
	Form       string // the token that forms have to have; empty where the program signs people in

	idToken, access string
	expires         time.Time
}

// roleOf names the role that counts.
func (p *Portal) roleOf(who *oidc.Claims) string {
	switch {
	case who.HasRole(p.config.Developer):
		return p.config.Developer
	case who.HasRole(p.config.OpenCaller):
		return p.config.OpenCaller
	}
	return ""
}

// visit returns the user of a request. ErrSignedOut means that there is no login session.
func (p *Portal) visit(r *http.Request) (*visitor, error) {
	if p.config.SignedIn != nil {
		return p.visitElsewhere(r)
	}
	number := p.cookie(r, sessionCookie)
	s := p.sessions.find(number)
	if s == nil {
		return nil, ErrSignedOut
	}
	tokens, who, err := p.refresh(r.Context(), s)
	if err != nil {
		if errors.Is(err, ErrSignedOut) {
			p.sessions.end(number)
		}
		return nil, err
	}
	role := p.roleOf(who)
	return &visitor{User: who.Username, Role: role, Developer: role == p.config.Developer, Form: s.form,
		idToken: tokens.ID, access: tokens.Access, expires: tokens.Expires}, nil
}

// visitElsewhere returns the user of a request where the program signs people in.
func (p *Portal) visitElsewhere(r *http.Request) (*visitor, error) {
	tokens, err := p.config.SignedIn(r)
	var who *oidc.Claims
	if err == nil {
		who, err = p.config.Verifier.Verify(r.Context(), tokens.Access)
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
	role := p.roleOf(who)
	return &visitor{User: who.Username, Role: role, Developer: role == p.config.Developer,
		idToken: tokens.ID, access: tokens.Access, expires: tokens.Expires}, nil
}

// visitorFunc answers a user that is signed in.
type visitorFunc func(w http.ResponseWriter, r *http.Request, v *visitor) error

// member admits every user that is signed in, with a role or not.
func (p *Portal) member(next visitorFunc) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		v, err := p.visit(r)
		switch {
		case errors.Is(err, ErrSignedOut) && (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get(partHeader) == "":
			seeOther(w, p.signInAddress(r))
			return nil
		case errors.Is(err, ErrSignedOut):
			return &httpapi.Error{Status: http.StatusUnauthorized, Detail: "You are not signed in any more. Please sign in and try again."}
		case err != nil:
			return err
		}
		return next(w, r, v)
	}
}

// reader admits users that may read.
func (p *Portal) reader(next visitorFunc) httpapi.HandlerFunc {
	return p.member(func(w http.ResponseWriter, r *http.Request, v *visitor) error {
		if v.Role == "" {
			return &httpapi.Error{Status: http.StatusForbidden,
				Detail: "Your account has neither the role " + p.config.Developer + " nor " + p.config.OpenCaller + "."}
		}
		return next(w, r, v)
	})
}

// developer admits users that may publish. Their form is checked where it is read.
func (p *Portal) developer(next visitorFunc) httpapi.HandlerFunc {
	return p.reader(func(w http.ResponseWriter, r *http.Request, v *visitor) error {
		if !v.Developer {
			return &httpapi.Error{Status: http.StatusForbidden, Detail: "The role " + p.config.Developer + " is needed for this."}
		}
		return next(w, r, v)
	})
}

// formField is the form field with the token of the session.
const formField = "form"

// maxForm is the greatest size in bytes of a form without a file.
const maxForm = 64 << 10

// checkForm reads a small form and checks that it is one of this visitor's.
func (p *Portal) checkForm(r *http.Request, v *visitor) error {
	r.Body = http.MaxBytesReader(nil, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return &httpapi.Error{Status: http.StatusBadRequest, Detail: "The form cannot be read.", Err: err}
	}
	return v.checkToken(r.PostForm.Get(formField))
}

// checkToken checks the token of a form. Where the program signs people in, the guard of the
// handler refuses forms of other origins.
func (v *visitor) checkToken(token string) error {
	if v.Form == "" {
		return nil
	}
	if subtle.ConstantTimeCompare([]byte(token), []byte(v.Form)) != 1 {
		return &httpapi.Error{Status: http.StatusForbidden, Detail: "This form is not from your session. Please reload the page and try again."}
	}
	return nil
}
