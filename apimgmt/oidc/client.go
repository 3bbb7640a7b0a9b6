package oidc

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// ClientConfig configures logins.
type ClientConfig struct {
	// Config has the issuer and the client. ClientID is required.
	// Its Audience and AuthorizedParties are not used: ID tokens are for this
	// client.
	Config
	// RedirectURL is the address to which the issuer redirects the browser. Empty means that
	// each login says it; see [Client.BeginAt].
	RedirectURL string
	// Scopes are requested besides "openid". Nil means "profile" and "email".
	Scopes []string
}

// Client logs users in with the authorization code flow and PKCE. It keeps
// nothing about them: a [Login] and [Tokens] are for the caller to keep, where
// the browser cannot read or change them. It is created with [NewClient] and safe
// for concurrent use.
type Client struct {
	issuer   *issuer
	verifier *Verifier
	redirect string
	scope    string
}

// NewClient returns a Client. It sends no request. Errors name
// the field of the configuration.
func NewClient(c ClientConfig) (*Client, error) {
	switch {
	case c.ClientID == "":
		return nil, errors.New("new client: Config.ClientID is required")
	case c.RedirectURL != "" && !absolute(c.RedirectURL):
		return nil, fmt.Errorf("new client: ClientConfig.RedirectURL: %q: expected http://HOST/PATH or https://HOST/PATH", c.RedirectURL)
	}
	c.Audience, c.AuthorizedParties = []string{c.ClientID}, nil
	verifier, err := New(c.Config)
	if err != nil {
		return nil, fmt.Errorf("new client: %w", err)
	}
	if c.Scopes == nil {
		c.Scopes = []string{"profile", "email"}
	}
	scopes := append([]string{"openid"}, slices.DeleteFunc(slices.Clone(c.Scopes), func(s string) bool { return s == "openid" })...)
	return &Client{issuer: verifier.issuer, verifier: verifier, redirect: c.RedirectURL, scope: strings.Join(scopes, " ")}, nil
}

func absolute(text string) bool {
	address, err := url.Parse(text)
	return err == nil && (address.Scheme == "http" || address.Scheme == "https") && address.Host != "" && address.Fragment == ""
}

// Close ends what was fetched behind the scenes and waits for it. It always
// returns nil and may be called twice.
func (c *Client) Close() error { return c.verifier.Close() }

// Login is a login that has begun. With the Verifier and the code of the
// answer gets the tokens, so it is kept like a password, for the minutes that a
// login takes: sealed in a cookie, or on the server.
type Login struct {
	// URL is the address to which the browser is redirected.
	URL string `json:"-"`
	// State comes back with the answer, and ties it to the browser.
	State string `json:"state"`
	// Nonce comes back in the ID token, and ties that to the login.
	Nonce string `json:"nonce"`
	// Verifier is the secret of PKCE (RFC 7636 section 4.1).
	Verifier string `json:"verifier"`
	// RedirectURL is the address to which the issuer redirects the browser. Empty means the
	// address of the configuration.
	RedirectURL string `json:"redirect,omitempty"`
}

// Begin prepares a login that comes back to the address of the configuration.
func (c *Client) Begin(ctx context.Context) (Login, error) { return c.BeginAt(ctx, "") }

// BeginAt prepares a login that comes back to another address, for a server with
// several names. The issuer knows which ones are allowed; empty means that of the
// configuration.
func (c *Client) BeginAt(ctx context.Context, redirect string) (Login, error) {
	if !absolute(cmp.Or(redirect, c.redirect)) {
		return Login{}, fmt.Errorf("begin login: redirect %q: expected http://HOST/PATH or https://HOST/PATH", short(redirect))
	}
	where, err := c.issuer.endpoint(ctx, "authorization_endpoint", func(e Endpoints) string { return e.Authorization })
	if err != nil {
		return Login{}, fmt.Errorf("begin login: %w", err)
	}
	// 52 characters; 43 is the least
	login := Login{State: rand.Text(), Nonce: rand.Text(), Verifier: rand.Text() + rand.Text(), RedirectURL: redirect}
	challenge := sha256.Sum256([]byte(login.Verifier))
	login.URL, err = withQuery(where, url.Values{
		"response_type": {"code"}, "client_id": {c.issuer.config.ClientID}, "redirect_uri": {cmp.Or(redirect, c.redirect)}, "scope": {c.scope},
		"state": {login.State}, "nonce": {login.Nonce},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	})
	if err != nil {
		return Login{}, fmt.Errorf("begin login: authorization_endpoint: %w", err)
	}
	return login, nil
}

// withQuery adds to the query of an address.
func withQuery(address string, add url.Values) (string, error) {
	where, err := url.Parse(address)
	if err != nil || !absolute(address) {
		return "", fmt.Errorf("%w: not an address", ErrUnreachable)
	}
	query := where.Query()
	for name, values := range add {
		query[name] = values
	}
	where.RawQuery = query.Encode()
	return where.String(), nil
}

// Tokens are the tokens of a login.
type Tokens struct {
	// Access is the token for calls, Refresh the one for new tokens, which may
	// be empty. ID is the ID token, which identifies the user; it is for
	// [Client.EndSessionURL].
	Access, Refresh, ID string
	// Claims are those of the ID token. After Refresh they are nil if there
	// was none.
	Claims *Claims
	// Expires is the time at which the access token expires, by the clock of this process, and
	// RefreshExpires when the refresh token does, zero if it is not said.
	Expires, RefreshExpires time.Time
}

// Exchange ends a login with the query of the browser's request to the redirect
// address. The login is the one that was kept for this browser, and must be
// forgotten afterwards. An error that the issuer answers with is a [*Refusal], and
// [ErrClient] if it is this client that the issuer refuses; an answer that belongs to another login, or came from another issuer (RFC
// 9207), is ErrState.
func (c *Client) Exchange(ctx context.Context, login Login, query url.Values) (*Tokens, error) {
	tokens, err := c.exchange(ctx, login, query)
	if err != nil {
		return nil, fmt.Errorf("end login: %w", err)
	}
	return tokens, nil
}

func (c *Client) exchange(ctx context.Context, login Login, query url.Values) (*Tokens, error) {
	if login.State == "" || login.Verifier == "" || login.Nonce == "" ||
		subtle.ConstantTimeCompare([]byte(login.State), []byte(query.Get("state"))) != 1 {
		return nil, ErrState
	}
	if err := c.fromIssuer(ctx, query); err != nil {
		return nil, err
	}
	if code := query.Get("error"); code != "" {
		return nil, refusal(code, query.Get("error_description"), 0)
	}
	if query.Get("code") == "" {
		return nil, fmt.Errorf("%w: no code", ErrState)
	}
	tokens, err := c.token(ctx, url.Values{
		"grant_type": {"authorization_code"}, "code": {query.Get("code")},
		"redirect_uri": {cmp.Or(login.RedirectURL, c.redirect)}, "code_verifier": {login.Verifier},
	})
	switch {
	case err != nil:
		return nil, err
	case tokens.Claims == nil:
		return nil, fmt.Errorf("%w: no ID token", ErrMalformed)
	case subtle.ConstantTimeCompare([]byte(tokens.Claims.Nonce), []byte(login.Nonce)) != 1:
		return nil, ErrNonce
	}
	return tokens, nil
}

// fromIssuer checks the iss of an answer, which must be there if the issuer says
// that it sends it.
func (c *Client) fromIssuer(ctx context.Context, query url.Values) error {
	name, err := c.issuer.name(ctx)
	if err != nil {
		return err
	}
	if !query.Has("iss") {
		if c.issuer.config.Endpoints.Authorization != "" && c.issuer.config.Endpoints.Token != "" {
			return nil // no document is read
		}
		m, err := c.issuer.metadata.get(ctx)
		if err != nil {
			return err
		}
		if m.IssParameter {
			return fmt.Errorf("%w: no iss", ErrState)
		}
		return nil
	}
	if query.Get("iss") != name {
		return fmt.Errorf("%w: from %q, expected %q", ErrState, short(query.Get("iss")), name)
	}
	return nil
}

// Refresh gets new tokens. The refresh token that was given is used up where the
// issuer rotates them: keep the new one, and never use the old one again. A
// *Refusal says that the user has to log in again, unless it is ErrClient.
func (c *Client) Refresh(ctx context.Context, refreshToken string) (*Tokens, error) {
	if refreshToken == "" {
		return nil, fmt.Errorf("refresh login: %w", ErrMissing)
	}
	tokens, err := c.token(ctx, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refreshToken}})
	if err != nil {
		return nil, fmt.Errorf("refresh login: %w", err)
	}
	if tokens.Refresh == "" {
		tokens.Refresh = refreshToken
	}
	return tokens, nil
}

// token calls the token endpoint (RFC 6749 section 5.1).
func (c *Client) token(ctx context.Context, form url.Values) (*Tokens, error) {
	address, err := c.issuer.endpoint(ctx, "token_endpoint", func(e Endpoints) string { return e.Token })
	if err != nil {
		return nil, err
	}
	got, err := c.issuer.post(ctx, address, form)
	if err != nil {
		return nil, err
	}
	if got.status != http.StatusOK {
		return nil, c.issuer.refused(address, got)
	}
	var said struct {
		Access         string `json:"access_token"`
		Refresh        string `json:"refresh_token"`
		ID             string `json:"id_token"`
		Type           string `json:"token_type"`
		Expires        int32  `json:"expires_in"`
		RefreshExpires int32  `json:"refresh_expires_in"`
	}
	if err := json.Unmarshal(got.body, &said); err != nil || said.Access == "" || !strings.EqualFold(said.Type, "bearer") {
		return nil, fmt.Errorf("ask %q: %w: the answer holds no bearer token", address, ErrUnreachable)
	}
	now := time.Now()
	tokens := &Tokens{Access: said.Access, Refresh: said.Refresh, ID: said.ID, Expires: now.Add(time.Duration(said.Expires) * time.Second)}
	if said.RefreshExpires > 0 {
		tokens.RefreshExpires = now.Add(time.Duration(said.RefreshExpires) * time.Second)
	}
	if said.ID != "" {
		if tokens.Claims, err = c.identity(ctx, said.ID); err != nil {
			return nil, fmt.Errorf("verify ID token: %w", err)
		}
	}
	return tokens, nil
}

// identity checks an ID token (OpenID Connect Core section 3.1.3.7).
func (c *Client) identity(ctx context.Context, token string) (*Claims, error) {
	if err := plausible(token); err != nil {
		return nil, err
	}
	name, err := c.issuer.name(ctx)
	if err != nil {
		return nil, err
	}
	claims, _, err := c.verifier.signed(ctx, token, name)
	if err != nil {
		return nil, err
	}
	if claims.kind != "" && claims.kind != "ID" {
		return nil, fmt.Errorf("%w: typ %q", ErrType, short(claims.kind))
	}
	config := c.issuer.config
	expect := expectation{issuer: name, audience: config.Audience, skew: config.Skew}
	if len(claims.Audience) > 1 || claims.AuthorizedParty != "" {
		expect.parties = []string{config.ClientID}
	}
	return claims, claims.check(expect, time.Now())
}

// EndSessionURL returns where the browser is sent to log out at the issuer
// (OpenID Connect RP-Initiated Logout). idToken is the one of the login; back is
// where the issuer sends the browser afterwards, and may be empty.
func (c *Client) EndSessionURL(ctx context.Context, idToken, back string) (string, error) {
	where, err := c.issuer.endpoint(ctx, "end_session_endpoint", func(e Endpoints) string { return e.EndSession })
	if err != nil {
		return "", fmt.Errorf("log out: %w", err)
	}
	query := url.Values{"client_id": {c.issuer.config.ClientID}}
	if idToken != "" {
		query.Set("id_token_hint", idToken)
	}
	if back != "" {
		query.Set("post_logout_redirect_uri", back)
	}
	if where, err = withQuery(where, query); err != nil {
		return "", fmt.Errorf("log out: end_session_endpoint: %w", err)
	}
	return where, nil
}
