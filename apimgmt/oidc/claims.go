package oidc

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	josejson "github.com/go-jose/go-jose/v4/json"
)

// Claims are the claims of a valid token. The same Claims are
// given to every request with the same token, so they must not be changed;
// reading is safe for concurrent use.
type Claims struct {
	// Issuer, Subject and ID are iss, sub and jti (RFC 7519 section 4.1).
	Issuer, Subject, ID string
	// Audience are the values of aud.
	Audience []string
	// AuthorizedParty is the client that got the token: azp, or else client_id.
	AuthorizedParty string
	// Username, Name and Email are preferred_username, name and email.
	Username, Name, Email string
	// Scopes are the words of scope.
	Scopes []string
	// Roles are Keycloak's realm roles, realm_access.roles.
	Roles []string
	// Session is the login that the token belongs to: sid, or Keycloak's
	// session_state.
	Session string
	// Nonce is the nonce of the login, in ID tokens.
	Nonce string
	// IssuedAt and NotBefore are iat and nbf, zero if absent.
	IssuedAt, NotBefore time.Time
	// Expires is exp.
	Expires time.Time
	// Raw is the JSON text of all claims, which has those that are not here.
	Raw json.RawMessage

	kind string // Keycloak's typ
}

// HasRole reports whether the token carries a realm role. Nil claims have none.
func (c *Claims) HasRole(role string) bool { return c != nil && slices.Contains(c.Roles, role) }

// HasScope reports whether the token carries a scope. Nil claims have none.
func (c *Claims) HasScope(scope string) bool { return c != nil && slices.Contains(c.Scopes, scope) }

// wireClaims is the JSON form of claims.
type wireClaims struct {
	Issuer       string   `json:"iss"`
	Subject      string   `json:"sub"`
	ID           string   `json:"jti"`
	Audience     audience `json:"aud"`
	Party        string   `json:"azp"`
	ClientID     string   `json:"client_id"`
	Username     string   `json:"preferred_username"`
	Name         string   `json:"name"`
	Email        string   `json:"email"`
	Scope        string   `json:"scope"`
	Session      string   `json:"sid"`
	SessionState string   `json:"session_state"`
	Nonce        string   `json:"nonce"`
	Kind         string   `json:"typ"`
	IssuedAt     *seconds `json:"iat"`
	NotBefore    *seconds `json:"nbf"`
	Expires      *seconds `json:"exp"`
	RealmAccess  struct {
		Roles []string `json:"roles"`
	} `json:"realm_access"`
	Active *bool `json:"active"` // in answers of introspection
}

// parseClaims reads claims. Names count exactly and must not be repeated,
// so that every reader of the token reads the same (RFC 7519 section 4).
func parseClaims(text []byte) (*Claims, *bool, error) {
	var wire wireClaims
	if err := josejson.Unmarshal(text, &wire); err != nil {
		return nil, nil, fmt.Errorf("%w: claims: %w", ErrMalformed, err)
	}
	party, session := wire.Party, wire.Session
	if party == "" {
		party = wire.ClientID
	}
	if session == "" {
		session = wire.SessionState
	}
	return &Claims{
		Issuer: wire.Issuer, Subject: wire.Subject, ID: wire.ID, Audience: wire.Audience, AuthorizedParty: party,
		Username: wire.Username, Name: wire.Name, Email: wire.Email, Scopes: strings.Fields(wire.Scope),
		Roles: wire.RealmAccess.Roles, Session: session, Nonce: wire.Nonce,
		IssuedAt: wire.IssuedAt.time(), NotBefore: wire.NotBefore.time(), Expires: wire.Expires.time(),
		Raw: json.RawMessage(text), kind: wire.Kind,
	}, wire.Active, nil
}

// audience is one string or a list of them (RFC 7519 section 4.1.3).
type audience []string

func (a *audience) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil && string(text) != "null" {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(a))
}

// seconds is a NumericDate, with or without a fraction (RFC 7519 section 2).
type seconds time.Time

func (s *seconds) UnmarshalJSON(text []byte) error {
	const year10000 = 253402300800
	var value float64
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	if value < 0 || value >= year10000 {
		return errors.New("a time before 1970 or after 9999")
	}
	whole, fraction := math.Modf(value)
	*s = seconds(time.Unix(int64(whole), int64(fraction*1e9)).UTC())
	return nil
}

func (s *seconds) time() time.Time {
	if s == nil {
		return time.Time{}
	}
	return time.Time(*s)
}

// expectation is what claims are compared with.
type expectation struct {
	issuer    string
	audience  []string
	parties   []string
	skew      time.Duration
	mayLackBy bool // answers of introspection may leave iss and exp out
}

// bearer refuses a token that Keycloak marks as no access token.
func (c *Claims) bearer() error {
	if c.kind != "" && c.kind != "Bearer" {
		return fmt.Errorf("%w: typ %q", ErrType, short(c.kind))
	}
	return nil
}

// timely checks exp, nbf and iat.
func (c *Claims) timely(now time.Time, skew time.Duration) error {
	switch {
	case !c.Expires.IsZero() && !now.Before(c.Expires.Add(skew)):
		return fmt.Errorf("%w at %s", ErrExpired, c.Expires.Format(time.RFC3339))
	case now.Add(skew).Before(c.NotBefore):
		return fmt.Errorf("%w before %s", ErrNotYetValid, c.NotBefore.Format(time.RFC3339))
	case now.Add(skew).Before(c.IssuedAt):
		return fmt.Errorf("%w: issued at %s", ErrNotYetValid, c.IssuedAt.Format(time.RFC3339))
	}
	return nil
}

// check compares claims with what is expected.
func (c *Claims) check(e expectation, now time.Time) error {
	if c.Expires.IsZero() && !e.mayLackBy {
		return fmt.Errorf("%w: no exp", ErrMalformed)
	}
	if c.Issuer != e.issuer && (c.Issuer != "" || !e.mayLackBy) {
		return fmt.Errorf("%w: %q, expected %q", ErrIssuer, short(c.Issuer), e.issuer)
	}
	if err := c.timely(now, e.skew); err != nil {
		return err
	}
	if len(e.audience) > 0 && !slices.ContainsFunc(c.Audience, func(a string) bool { return slices.Contains(e.audience, a) }) {
		return fmt.Errorf("%w: %q, expected one of %q", ErrAudience, short(strings.Join(c.Audience, " ")), e.audience)
	}
	if len(e.parties) > 0 && !slices.Contains(e.parties, c.AuthorizedParty) {
		return fmt.Errorf("%w: given to %q, expected one of %q", ErrAudience, short(c.AuthorizedParty), e.parties)
	}
	return nil
}

// short keeps what a token says from filling a log.
func short(text string) string { return text[:min(len(text), 200)] }
