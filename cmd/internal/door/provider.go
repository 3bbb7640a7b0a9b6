package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// ProviderConfig configures [NewProvider]. All fields but Remedy are required.
type ProviderConfig struct {
	// Client signs people in.
	Client *oidc.Client
	// Verifier checks the access tokens that it gives.
	Verifier TokenVerifier
	// RoleClaim is the path of the claim that has the role, or a list with it.
	RoleClaim string
	// Roles are further names of roles in that claim.
	Roles map[string]httpapi.Role
	// Home is where the issuer sends browsers after signing out.
	Home string
	// Remedy says what to correct when the issuer refuses the id or the secret of Client, as a
	// sentence. Empty says nothing.
	Remedy string
}

// TokenVerifier checks access tokens; *oidc.Verifier does.
type TokenVerifier interface {
	// Verify returns the claims of a token that is valid now.
	Verify(ctx context.Context, token string) (*oidc.Claims, error)
}

// provider signs people in at an issuer of OpenID Connect.
type provider struct{ config ProviderConfig }

// NewProvider returns an access.Provider over OpenID Connect.
func NewProvider(config ProviderConfig) access.Provider { return provider{config} }

// Begin implements access.Provider.
func (p provider) Begin(ctx context.Context) (page string, state []byte, err error) {
	login, err := p.config.Client.Begin(ctx)
	if err != nil {
		return "", nil, p.failed(err)
	}
	state, err = json.Marshal(login)
	return login.URL, state, err
}

// Finish implements access.Provider.
func (p provider) Finish(ctx context.Context, state []byte, answer url.Values) (access.Grant, error) {
	var login oidc.Login
	if err := json.Unmarshal(state, &login); err != nil {
		return access.Grant{}, fmt.Errorf("read login: %w", err)
	}
	tokens, err := p.config.Client.Exchange(ctx, login, answer)
	if err != nil {
		return access.Grant{}, p.failed(err)
	}
	return toGrant(tokens), nil
}

// Refresh implements access.Provider.
func (p provider) Refresh(ctx context.Context, g access.Grant) (access.Grant, error) {
	tokens, err := p.config.Client.Refresh(ctx, g.Refresh)
	if err = p.failed(err); err != nil {
		var refusal *oidc.Refusal
		if !errors.Is(err, access.ErrUnavailable) && (errors.As(err, &refusal) || errors.Is(err, oidc.ErrMissing)) {
			err = fmt.Errorf("%w: %w", access.ErrInvalid, err)
		}
		return access.Grant{}, err
	}
	next := toGrant(tokens)
	if next.ID == "" {
		next.ID = g.ID
	}
	return next, nil
}

// Identify implements access.Verifier.
func (p provider) Identify(ctx context.Context, token string) (access.Identity, error) {
	claims, err := p.config.Verifier.Verify(ctx, token)
	if err != nil {
		return access.Identity{}, p.failed(err)
	}
	return readIdentity(claims, strings.Split(p.config.RoleClaim, "."), p.config.Roles), nil
}

// EndURL implements access.Provider.
func (p provider) EndURL(ctx context.Context, g access.Grant) string {
	where, err := p.config.Client.EndSessionURL(ctx, g.ID, p.config.Home)
	if err != nil {
		return "" // signed out here alone
	}
	return where
}

func toGrant(tokens *oidc.Tokens) access.Grant {
	return access.Grant{Access: tokens.Access, Refresh: tokens.Refresh, ID: tokens.ID, Expires: tokens.Expires}
}

// failed returns the error of the client as access has it: an [access.ClientError] if the issuer
// refuses the client, and one with access.ErrUnavailable if the issuer does not answer.
func (p provider) failed(err error) error {
	switch {
	case errors.Is(err, oidc.ErrClient):
		return &access.ClientError{Err: err, Remedy: p.config.Remedy}
	case errors.Is(err, oidc.ErrUnreachable):
		return fmt.Errorf("%w: %w", access.ErrUnavailable, err)
	}
	return err
}
