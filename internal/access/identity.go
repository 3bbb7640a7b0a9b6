package access

import (
	"context"
	"crypto/x509"
	"errors"

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
