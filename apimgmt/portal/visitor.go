package portal

import (
	"crypto/subtle"
	"errors"
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
func (c Config) roleOf(who *oidc.Claims) string {
	switch {
	case who.HasRole(c.Developer):
		return c.Developer
	case who.HasRole(c.OpenCaller):
		return c.OpenCaller
	}
	return ""
}

// visitorOf returns the user of an access token.
func (c Config) visitorOf(who *oidc.Claims, tokens oidc.Tokens) *visitor {
	role := c.roleOf(who)
	return &visitor{User: who.Username, Role: role, Developer: role == c.Developer,
		idToken: tokens.ID, access: tokens.Access, expires: tokens.Expires}
}

// errNotAnyMore is for scripts and forms of a page whose session has ended.
func errNotAnyMore() error {
	return &httpapi.Error{Status: http.StatusUnauthorized, Detail: "You are not signed in any more. Please sign in and try again."}
}

// visitorFunc answers a user that is signed in.
type visitorFunc func(w http.ResponseWriter, r *http.Request, v *visitor) error

// member admits every user that is signed in, with a role or not.
func (p *Portal) member(next visitorFunc) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		v, err := p.entrance.visit(r)
		switch {
		case errors.Is(err, ErrSignedOut) && (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get(partHeader) == "":
			seeOther(w, p.entrance.address(r))
			return nil
		case errors.Is(err, ErrSignedOut):
			return errNotAnyMore()
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
func (v *visitor) checkForm(r *http.Request) error {
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
