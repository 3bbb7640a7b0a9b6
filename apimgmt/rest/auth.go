package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// memberFunc answers an authenticated caller.
type memberFunc func(w http.ResponseWriter, req *http.Request, caller *oidc.Claims) error

// developer admits callers that may publish.
func (r *rest) developer(next memberFunc) httpapi.HandlerFunc {
	return r.with([]string{r.options.Developer}, httpapi.Operator, next)
}

// reader admits callers that may read.
func (r *rest) reader(next memberFunc) httpapi.HandlerFunc {
	return r.with([]string{r.options.Developer, r.options.OpenCaller}, httpapi.Reader, next)
}

// authorize decides on the routes besides the library, which takes tokens of its own, too.
func (r *rest) authorize(req *http.Request, role string) error {
	if r.options.Authorize == nil || req.URL.Path == library || strings.HasPrefix(req.URL.Path, library+"/") {
		return nil
	}
	return r.options.Authorize(req, role)
}

// with admits callers whose token has one of the roles (RFC 6750 section 3), and those that
// Authorize accepts for the other role. The body of a request is not read before.
func (r *rest) with(roles []string, other httpapi.Role, next memberFunc) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) error {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Add("Vary", "Authorization")
		caller, err := r.authenticate(w, req)
		if err != nil {
			if err = r.otherwise(w, req, other, err); err != nil {
				return err
			}
			w.Header().Del("WWW-Authenticate")
			w.Header().Del("Retry-After")
			return next(w, req, &oidc.Claims{Username: string(other)})
		}
		for _, role := range roles {
			if caller.HasRole(role) {
				return next(w, req, caller)
			}
		}
		r.challenge(w, "insufficient_scope", "the role "+strings.Join(roles, " or ")+" is needed")
		return &httpapi.Error{Status: http.StatusForbidden, Detail: "The role " + strings.Join(roles, " or ") + " is needed."}
	}
}

// otherwise returns nil for a caller that Authorize accepts. The error is the first one, or
// that of Authorize if the caller has too small a role or is slowed down.
func (r *rest) otherwise(w http.ResponseWriter, req *http.Request, role httpapi.Role, first error) error {
	if r.options.Authorize == nil {
		return first
	}
	err := r.options.Authorize(req, string(role))
	var refusal *httpapi.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refusal) && (refusal.Status == http.StatusForbidden || refusal.Status == http.StatusTooManyRequests):
		w.Header().Del("WWW-Authenticate")
		for name, values := range refusal.Header {
			w.Header()[name] = values
		}
		return refusal
	}
	return first
}

func (r *rest) authenticate(w http.ResponseWriter, req *http.Request) (*oidc.Claims, error) {
	fields := req.Header.Values("Authorization")
	scheme, token, _ := strings.Cut(strings.Join(fields, ","), " ")
	if len(fields) == 0 || !strings.EqualFold(scheme, "Bearer") || r.options.Verifier == nil {
		r.challenge(w, "", "")
		return nil, &httpapi.Error{Status: http.StatusUnauthorized, Detail: "Not authenticated"}
	}
	if len(fields) > 1 {
		r.challenge(w, "invalid_request", "more than one Authorization")
		return nil, &httpapi.Error{Status: http.StatusBadRequest, Detail: "The request has more than one Authorization field."}
	}
	caller, err := r.options.Verifier.Verify(req.Context(), strings.TrimSpace(token))
	var refusal *oidc.Refusal
	switch {
	case err == nil && caller != nil:
		return caller, nil
	case errors.Is(err, oidc.ErrUnreachable), errors.As(err, &refusal), req.Context().Err() != nil:
		detail := "The identity manager cannot be reached. Please try again."
		if errors.Is(err, oidc.ErrClient) {
			detail = "The identity manager refuses the credentials of this server."
		}
		w.Header().Set("Retry-After", "5")
		return nil, &httpapi.Error{Status: http.StatusServiceUnavailable, Detail: detail, Err: err}
	}
	r.challenge(w, "invalid_token", refusalReason(err))
	return nil, &httpapi.Error{Status: http.StatusUnauthorized, Detail: "The token is not accepted: " + refusalReason(err) + ".", Err: err}
}

// refusalReason is why a token is refused: the text of the sentinel alone, for the rest of the
// error may have parts of the token.
func refusalReason(err error) string {
	for _, known := range []error{
		oidc.ErrMissing, oidc.ErrMalformed, oidc.ErrAlgorithm, oidc.ErrType, oidc.ErrExpired, oidc.ErrNotYetValid,
		oidc.ErrIssuer, oidc.ErrAudience, oidc.ErrSignature, oidc.ErrUnknownKey, oidc.ErrInactive,
	} {
		if errors.Is(err, known) {
			return strings.TrimPrefix(known.Error(), "oidc: ")
		}
	}
	return "it cannot be verified"
}

// challenge adds the WWW-Authenticate field. Without a code the request had no token, and
// the field has no reason (RFC 6750 section 3.1).
func (r *rest) challenge(w http.ResponseWriter, code, description string) {
	value := fmt.Sprintf("Bearer realm=%s", quoted(r.options.Realm))
	if code != "" {
		value += fmt.Sprintf(", error=%s, error_description=%s", quoted(code), quoted(description))
	}
	w.Header().Set("WWW-Authenticate", value)
}

// quoted is a quoted-string (RFC 9110 section 5.6.4).
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", " ", "\n", " ").Replace(text) + `"`
}

// callerName is the name of a caller, for the record and the log.
func callerName(caller *oidc.Claims) string {
	switch {
	case caller.Username != "":
		return caller.Username
	case caller.Subject != "":
		return caller.Subject
	}
	return caller.AuthorizedParty
}
