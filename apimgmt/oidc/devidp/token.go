package devidp

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// claims are those of all tokens; each has some of them.
type claims struct {
	Issuer   string       `json:"iss"`
	Subject  string       `json:"sub"`
	Audience string       `json:"aud,omitempty"`
	Party    string       `json:"azp"`
	Kind     string       `json:"typ"` // Bearer, ID, Refresh
	ID       string       `json:"jti"`
	Expires  int64        `json:"exp"`
	Issued   int64        `json:"iat"`
	AuthTime int64        `json:"auth_time,omitempty"`
	Session  string       `json:"sid,omitempty"`
	State    string       `json:"session_state,omitempty"`
	ACR      string       `json:"acr,omitempty"`
	Nonce    string       `json:"nonce,omitempty"`
	AtHash   string       `json:"at_hash,omitempty"`
	Origins  []string     `json:"allowed-origins,omitempty"`
	Roles    *realmAccess `json:"realm_access,omitempty"`
	Scope    string       `json:"scope,omitempty"`
	ClientID string       `json:"client_id,omitempty"`
	Grant    string       `json:"grant,omitempty"` // of refresh tokens: the chain they belong to
	profile
}

type realmAccess struct {
	Roles []string `json:"roles"`
}

// profile is the claims of the scopes profile and email.
type profile struct {
	Username   string `json:"preferred_username,omitempty"`
	Name       string `json:"name,omitempty"`
	GivenName  string `json:"given_name,omitempty"`
	FamilyName string `json:"family_name,omitempty"`
	Email      string `json:"email,omitempty"`
	Verified   *bool  `json:"email_verified,omitempty"`
}

// tokens is the answer of the token endpoint.
type tokens struct {
	Access         string `json:"access_token"`
	Expires        int64  `json:"expires_in"`
	RefreshExpires int64  `json:"refresh_expires_in"`
	Refresh        string `json:"refresh_token,omitempty"`
	Type           string `json:"token_type"`
	ID             string `json:"id_token,omitempty"`
	NotBefore      int64  `json:"not-before-policy"`
	State          string `json:"session_state,omitempty"`
	Scope          string `json:"scope"`
}

// scopes returns what is granted of the requested scopes: always profile and email,
// as Keycloak's clients have by default, and openid if requested.
func scopes(asked string) string {
	given := "profile email"
	if slices.Contains(strings.Fields(asked), "openid") {
		given = "openid " + given
	}
	return given
}

func hasScope(scope, word string) bool { return slices.Contains(strings.Fields(scope), word) }

func scopedProfile(user account, scope string) profile {
	var p profile
	if hasScope(scope, "profile") {
		p.Username = user.Name
		p.GivenName = user.FirstName
		p.FamilyName = user.LastName
		p.Name = strings.TrimSpace(user.FirstName + " " + user.LastName)
	}
	if hasScope(scope, "email") && user.Email != "" {
		verified := true
		p.Email, p.Verified = user.Email, &verified
	}
	return p
}

// issue creates the tokens of a grant, whose refresh token is the one that it
// names.
func (p *Provider) issue(ctx context.Context, client Client, user account, s *session, g grant) (*tokens, error) {
	now := time.Now()
	access := claims{
		Issuer: p.issuer, Subject: user.Subject, Audience: "account", Party: client.ID, Kind: "Bearer", ID: uuid.NewString(),
		Expires: now.Add(p.config.AccessTTL).Unix(), Issued: now.Unix(), AuthTime: s.Created.Unix(), Session: s.ID, ACR: "1",
		Origins: client.origins(), Roles: &realmAccess{Roles: append([]string{},
			user.Roles...)}, Scope: g.Scope, profile: scopedProfile(user, g.Scope),
	}
	ends := p.book.ends(s)
	answer := &tokens{
		Expires: int64(p.config.AccessTTL / time.Second), RefreshExpires: max(0,
			int64(ends.Sub(now)/time.Second)), Type: "bearer", State: s.ID, Scope: g.Scope,
	}
	var err error
	if answer.Access, err = p.ring.sign(ctx, access); err != nil {
		return nil, err
	}
	if answer.Refresh, err = p.ring.seal(claims{
		Issuer: p.issuer, Subject: user.Subject, Audience: p.issuer, Party: client.ID, Kind: "Refresh", ID: g.Refresh,
		Expires: ends.Unix(), Issued: now.Unix(), Session: s.ID, Scope: g.Scope, Grant: g.ID,
	}); err != nil {
		return nil, err
	}
	if hasScope(g.Scope, "openid") {
		id := access
		id.Audience = client.ID
		id.Kind = "ID"
		id.ID = uuid.NewString()
		id.Nonce = g.Nonce
		id.Roles = nil
		id.Origins = nil
		id.Scope = ""
		half := sha256.Sum256([]byte(answer.Access))
		id.AtHash = base64.RawURLEncoding.EncodeToString(half[:16]) // OpenID Connect Core section 3.1.3.6
		if answer.ID, err = p.ring.sign(ctx, id); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// issueService creates the token of a client for itself.
func (p *Provider) issueService(ctx context.Context, client Client, scope string) (*tokens, error) {
	now := time.Now()
	access, err := p.ring.sign(ctx, claims{
		Issuer: p.issuer, Subject: uuid.NewSHA1(uuid.NameSpaceURL, []byte(p.issuer+"/clients/"+client.ID)).String(), Audience: "account",
		Party: client.ID, ClientID: client.ID, Kind: "Bearer", ID: uuid.NewString(), Expires: now.Add(
			p.config.AccessTTL).Unix(), Issued: now.Unix(),
		ACR: "1", Roles: &realmAccess{Roles: []string{}}, Scope: scope, profile: profile{Username: "service-account-" + client.ID},
	})
	if err != nil {
		return nil, err
	}
	return &tokens{Access: access, Expires: int64(p.config.AccessTTL / time.Second), Type: "bearer", Scope: scope}, nil
}

// newGrant adds a grant to a session.
func (s *session) newGrant(client, scope, nonce string) grant {
	g := grant{ID: rand.Text(), Client: client, Scope: scope, Nonce: nonce, Refresh: uuid.NewString()}
	s.Grants = append(s.Grants, g)
	s.Grants = s.Grants[max(0, len(s.Grants)-maxGrants):]
	s.Used = time.Now()
	return g
}

// active returns the claims of an access token that is still good, and the
// session that it belongs to, nil for that of a client itself. The error is
// errToken, errNoSession, or the store's.
func (p *Provider) active(ctx context.Context, token string) (claims, *session, error) {
	var c claims
	if err := p.ring.open(ctx, token, &c); err != nil {
		return claims{}, nil, err
	}
	if c.Kind != "Bearer" || c.Issuer != p.issuer || time.Now().Unix() >= c.Expires {
		return claims{}, nil, errToken
	}
	if c.Session == "" {
		if _, ok := p.clients[c.Party]; !ok {
			return claims{}, nil, errToken
		}
		return c, nil, nil
	}
	s, err := p.book.get(ctx, c.Session)
	if err != nil {
		return claims{}, nil, err
	}
	if user, ok := p.users[s.User]; !ok || user.Subject != c.Subject {
		return claims{}, nil, errNoSession
	}
	return c, s, nil
}
