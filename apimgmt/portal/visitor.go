package portal

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// visitor is the user of a request.
type visitor struct {
	User, Role string
	Developer  bool

	token string // the access token
}

// visit returns the user of a request. The error matches ErrSignedOut for a browser that
// is not signed in.
func (p *Portal) visit(r *http.Request) (*visitor, error) {
	token, err := p.config.SignedIn(r)
	var who *oidc.Claims
	if err == nil {
		who, err = p.config.Verifier.Verify(r.Context(), token)
		if err != nil && !errors.Is(err, oidc.ErrUnreachable) {
			return nil, fmt.Errorf("%w: %w", ErrSignedOut, err) // it has expired meanwhile
		}
	}
	switch {
	case errors.Is(err, oidc.ErrUnreachable):
		return nil, &httpapi.Error{
			Status: http.StatusServiceUnavailable,
			Header: http.Header{"Retry-After": {"5"}},
			Detail: "The identity provider cannot be reached. Please try again.",
			Err:    err,
		}
	case err != nil:
		return nil, err
	}
	role := p.config.role(who)
	return &visitor{User: who.Username, Role: role, Developer: role == p.config.Developer, token: token}, nil
}

// role returns the highest role of a user in the portal, and "" for a user without one.
func (c Config) role(who *oidc.Claims) string {
	switch {
	case who.HasRole(c.Developer):
		return c.Developer
	case who.HasRole(c.OpenCaller):
		return c.OpenCaller
	}
	return ""
}

// errSessionEnded is the answer to scripts and forms of a page whose session has ended.
func errSessionEnded() error {
	return &httpapi.Error{Status: http.StatusUnauthorized, Detail: "You are not signed in any more. Please sign in and try again."}
}

// visitorFunc answers a user that is signed in.
type visitorFunc func(w http.ResponseWriter, r *http.Request, v *visitor) error

// member admits every user that is signed in, with a role or without one.
func (p *Portal) member(next visitorFunc) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		v, err := p.visit(r)
		isPage := (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get(partHeader) == ""
		switch {
		case errors.Is(err, ErrSignedOut) && isPage:
			seeOther(w, p.signInAddress(r))
			return nil
		case errors.Is(err, ErrSignedOut):
			return errSessionEnded()
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

// developer admits users that may publish.
func (p *Portal) developer(next visitorFunc) httpapi.HandlerFunc {
	return p.reader(func(w http.ResponseWriter, r *http.Request, v *visitor) error {
		if !v.Developer {
			return &httpapi.Error{Status: http.StatusForbidden, Detail: "The role " + p.config.Developer + " is needed for this."}
		}
		return next(w, r, v)
	})
}

// maxForm is the greatest size in bytes of a form without a file.
const maxForm = 64 << 10
