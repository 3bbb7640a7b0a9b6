package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Introspect queries the issuer whether a token is active (RFC 7662), and returns
// what it says about it. The token need not be a JWT. A token that is not active
// is ErrInactive; one that is, is also compared with the Audience and the
// AuthorizedParties of the configuration, and with the Issuer if the answer names
// one. Config.ClientID is required.
//
// The same token is introspected once at a time, and the answer is used again for
// Config.IntrospectionTTL. An issuer that fails several times in a row is left
// alone for a while, in which the error is ErrUnreachable at once.
func (v *Verifier) Introspect(ctx context.Context, token string) (*Claims, error) {
	claims, err := v.introspect(ctx, token)
	if err != nil {
		return nil, fmt.Errorf("introspect token: %w", err)
	}
	return claims, nil
}

func (v *Verifier) introspect(ctx context.Context, token string) (*Claims, error) {
	if err := plausible(token); err != nil {
		return nil, err
	}
	of := tokenDigest(token)
	land, err := v.flights.start(ctx, of)
	if err != nil {
		return nil, err
	}
	defer land()
	c := v.issuer.config
	if known, ok := v.answers.get(of, time.Now()); ok {
		return known.active(time.Now(), c.Skew)
	}
	claims, err := v.ask(ctx, token)
	if err != nil {
		return nil, err
	}
	answer := remembered{claims: claims, until: time.Now().Add(c.IntrospectionTTL)}
	if c.IntrospectionTTL > 0 {
		v.answers.put(of, answer)
	}
	return answer.active(time.Now(), c.Skew)
}

// active returns the claims of a token that is.
func (r remembered) active(now time.Time, skew time.Duration) (*Claims, error) {
	if r.claims == nil {
		return nil, ErrInactive
	}
	return r.claims, r.claims.timely(now, skew)
}

// ask returns nil claims for a token that is not active.
func (v *Verifier) ask(ctx context.Context, token string) (*Claims, error) {
	if v.issuer.config.ClientID == "" {
		return nil, errors.New("Config.ClientID: it is required to introspect")
	}
	report, err := v.breaker.enter(time.Now())
	if err != nil {
		return nil, err
	}
	claims, err := v.request(ctx, token)
	report(ctx, err, time.Now())
	return claims, err
}

func (v *Verifier) request(ctx context.Context, token string) (*Claims, error) {
	address, err := v.issuer.endpoint(ctx, "introspection_endpoint", func(e Endpoints) string { return e.Introspection })
	if err != nil {
		return nil, err
	}
	got, err := v.issuer.post(ctx, address, url.Values{"token": {token}, "token_type_hint": {"access_token"}})
	if err != nil {
		return nil, err
	}
	if got.status != http.StatusOK {
		return nil, v.issuer.refused(address, got)
	}
	claims, active, err := parseClaims(got.body)
	switch {
	case err != nil || active == nil:
		return nil, fmt.Errorf("ask %q: %w: the answer is not one of RFC 7662", address, ErrUnreachable)
	case !*active:
		return nil, nil
	}
	if err := claims.bearer(); err != nil {
		return nil, err // a refresh token is active, too
	}
	name := claims.Issuer
	if name != "" {
		if name, err = v.issuer.name(ctx); err != nil {
			return nil, err
		}
	}
	c := v.issuer.config
	return claims, claims.check(expectation{issuer: name, audience: c.Audience, parties: c.AuthorizedParties,
		skew: c.Skew, mayLackBy: true}, time.Now())
}
