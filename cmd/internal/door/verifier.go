package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/internal/access"
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
		return issuer{}, fmt.Errorf("-access-issuer: %w", err)
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
	name := claims.Username
	if name == "" {
		name = claims.Subject
	}
	return access.Identity{Name: name, Role: roleIn(claims.Raw, i.path)}, nil
}

// roleIn returns the highest role in a claim, and Public if there is none.
func roleIn(claims json.RawMessage, path []string) httpapi.Role {
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
		if httpapi.IsRole(name) && httpapi.Role(name).Includes(highest) {
			highest = httpapi.Role(name)
		}
	}
	return highest
}
