package door

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// issuer accepts the tokens of an OpenID Connect issuer.
type issuer struct {
	verifier *oidc.Verifier
	path     []string // of the claim with the role
}

var _ access.Verifier = issuer{}

func newIssuer(address, audience, roleClaim string, log *slog.Logger) (issuer, error) {
	verifier, err := oidc.New(oidc.Config{
		Issuer: address, Audience: []string{audience}, Logger: log,
		AllowHTTP: strings.HasPrefix(address, "http://"), // the operator has chosen it
	})
	if err != nil {
		return issuer{}, cli.Usage(fmt.Errorf("-access-issuer: %w", err))
	}
	return issuer{verifier, strings.Split(roleClaim, ".")}, nil
}

// Identify implements access.Verifier.
func (i issuer) Identify(ctx context.Context, token string) (access.Identity, error) {
	claims, err := i.verifier.Verify(ctx, token)
	if err != nil {
		var refusal *oidc.Refusal
		if errors.Is(err, oidc.ErrUnreachable) || errors.As(err, &refusal) {
			err = fmt.Errorf("%w: %w", access.ErrUnavailable, err)
		}
		return access.Identity{}, err
	}
	return readIdentity(claims, i.path, nil), nil
}

// readIdentity returns the identity in the claims of a token.
func readIdentity(claims *oidc.Claims, path []string, roles map[string]httpapi.Role) access.Identity {
	return access.Identity{Name: cmp.Or(claims.Username, claims.Subject), Role: roleIn(claims.Raw, path, roles)}
}

// roleIn returns the highest role in a claim, and Public if there is none. The roles may
// have further names.
func roleIn(claims json.RawMessage, path []string, further map[string]httpapi.Role) httpapi.Role {
	for _, name := range path {
		var object map[string]json.RawMessage
		if json.Unmarshal(claims, &object) != nil || object[name] == nil {
			return httpapi.Public
		}
		claims = object[name]
	}
	var names []string
	var one string
	if json.Unmarshal(claims, &one) == nil {
		names = strings.Fields(one)
	} else if json.Unmarshal(claims, &names) != nil {
		return httpapi.Public
	}
	highest := httpapi.Public
	for _, name := range names {
		role := cmp.Or(further[name], httpapi.Role(name))
		if httpapi.IsRole(string(role)) && role.Includes(highest) {
			highest = role
		}
	}
	return highest
}
