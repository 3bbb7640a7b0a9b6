package access

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// Identity is a caller that has proved who it is.
type Identity struct {
	// Name is for logs and pages: the name of a token, the user of an issuer, or the
	// common name of a certificate.
	Name string
	// Role is what the caller may do.
	Role httpapi.Role
}

// Verifier accepts tokens that somewhere else were issued.
type Verifier interface {
	// Identify returns the identity behind a token. An error that wraps [ErrUnavailable]
	// means that the token cannot be checked at the moment, any other one that the
	// token is not valid.
	Identify(ctx context.Context, token string) (Identity, error)
}

// ErrUnavailable reports that a token cannot be checked at the moment.
var ErrUnavailable = errors.New("access: the issuer of tokens cannot be reached")

// ClientError reports that the issuer refuses this server itself: its client id, or its client
// secret, which may have been rotated. It says nothing about a token or a person, and matches
// [ErrUnavailable]: sessions last until it is corrected.
type ClientError struct {
	// Err is the answer of the issuer, for the log.
	Err error
	// Remedy says what to correct, as a sentence. Empty says nothing.
	Remedy string
}

// Error implements error.
func (e *ClientError) Error() string {
	return "access: the issuer refuses this server as its client: " + e.Err.Error()
}

// Unwrap returns the answer of the issuer.
func (e *ClientError) Unwrap() error { return e.Err }

// Is reports whether the target is ErrUnavailable.
func (e *ClientError) Is(target error) bool { return target == ErrUnavailable }

// refusal returns what a caller gets, and what the log says.
func (e *ClientError) refusal() *httpapi.Error {
	text := "The identity provider refuses the client id or the client secret of this server."
	if e.Remedy != "" {
		text += " " + e.Remedy
	}
	return &httpapi.Error{Status: http.StatusServiceUnavailable, Detail: text, Err: e}
}

// certified returns the identity of a client certificate. One of its organizational units
// may name a role; without one the caller has the given role.
func certified(certificate *x509.Certificate, role httpapi.Role) Identity {
	for _, unit := range certificate.Subject.OrganizationalUnit {
		if httpapi.IsRole(unit) {
			role = httpapi.Role(unit)
			break
		}
	}
	return Identity{Name: certificate.Subject.CommonName, Role: role}
}
