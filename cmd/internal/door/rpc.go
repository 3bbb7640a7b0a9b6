package door

import (
	"context"
	"errors"
	"net/http"

	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// Admit returns the name of a caller of another protocol than HTTP, who needs the role. The
// error has a method HTTPStatus() int, and a text for the caller: what is missing, and
// never a credential. An open door admits every caller, without a name.
func (d *Door) Admit(ctx context.Context, c access.Credentials, role httpapi.Role) (name string, err error) {
	identity, err := d.Door.Admit(ctx, c, role)
	if err == nil {
		return identity.Name, nil
	}
	refused := &refusal{http.StatusServiceUnavailable, "the token cannot be checked at the moment; please try again"}
	var slowed *access.SlowedError
	var wanted *access.RoleError
	switch {
	case errors.Is(err, access.ErrAnonymous):
		refused = &refusal{http.StatusUnauthorized, "a token is required: send it as authorization: Bearer TOKEN"}
	case errors.Is(err, access.ErrInvalid):
		refused = &refusal{http.StatusUnauthorized, "the token is not valid"}
	case errors.As(err, &wanted):
		refused = &refusal{http.StatusForbidden, wanted.Error()}
	case errors.As(err, &slowed):
		refused = &refusal{http.StatusTooManyRequests, "there were too many failed attempts from this address; please try again later"}
	case ctx.Err() != nil:
		return "", ctx.Err()
	}
	return "", refused
}

// refusal is an error with a status of HTTP.
type refusal struct {
	status int
	text   string
}

// Error implements error.
func (r *refusal) Error() string { return r.text }

// HTTPStatus returns the status that a server of HTTP would answer with.
func (r *refusal) HTTPStatus() int { return r.status }
