package collector

import (
	"context"
	"errors"
	"net/http"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// Clients returns the function for Config.AuthorizeClient that asks a door: a client may
// train if it has the role reader, by a token or a certificate. It returns nil for an open
// door.
func Clients(door *access.Door) func(ctx context.Context, caller flower.Caller) (name string, err error) {
	if door.IsOpen() {
		return nil
	}
	return func(ctx context.Context, caller flower.Caller) (string, error) {
		credentials := access.Credentials{Address: caller.Address, Token: caller.Token, TLS: caller.TLS}
		identity, err := door.Admit(ctx, credentials, httpapi.Reader)
		if err != nil {
			return "", &refusal{err}
		}
		return identity.Name, nil
	}
}

// refusal is an error of a door with its status of HTTP, by which flower chooses the code
// of gRPC.
type refusal struct{ err error }

// Error implements error.
func (r *refusal) Error() string {
	if errors.Is(r.err, access.ErrAnonymous) {
		return r.err.Error() + ": a client needs a token, in the metadata authorization: Bearer TOKEN, or a certificate"
	}
	return r.err.Error()
}

// Unwrap returns the error of the door.
func (r *refusal) Unwrap() error { return r.err }

// HTTPStatus returns the status for the error.
func (r *refusal) HTTPStatus() int {
	var slowed *access.SlowedError
	var role *access.RoleError
	switch {
	case errors.As(r.err, &slowed):
		return http.StatusTooManyRequests
	case errors.As(r.err, &role):
		return http.StatusForbidden
	case errors.Is(r.err, access.ErrAnonymous), errors.Is(r.err, access.ErrInvalid):
		return http.StatusUnauthorized
	}
	return http.StatusServiceUnavailable
}
