package devidp

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
)

// token answers POST …/token (RFC 6749 section 3.2).
func (h *handler) token(w http.ResponseWriter, r *http.Request) error {
	if !h.guard.admit(clientAddress(r), time.Now()) {
		w.Header().Set("Retry-After", "1")
		return refuse(http.StatusTooManyRequests, "slow_down", "Too many requests")
	}
	fields, err := form(r)
	if err != nil {
		return err
	}
	client, err := h.authenticateClient(r, fields)
	if err != nil {
		return err
	}
	allowOrigin(w, r, client)
	var answer *tokens
	switch fields.Get("grant_type") {
	case "":
		return refuse(http.StatusBadRequest, "invalid_request", "Missing form parameter: grant_type")
	case "password":
		answer, err = h.passwordGrant(r.Context(), client, fields, clientAddress(r))
	case "refresh_token":
		answer, err = h.refreshGrant(r.Context(), client, fields)
	case "client_credentials":
		answer, err = h.serviceGrant(r.Context(), client, fields)
	case "authorization_code":
		answer, err = h.codeGrant(r.Context(), client, fields)
	default:
		return refuse(http.StatusBadRequest, "unsupported_grant_type", "Unsupported grant_type")
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
}

func (h *handler) passwordGrant(ctx context.Context, client Client, fields url.Values, address string) (*tokens, error) {
	if !client.Password {
		return nil, refuse(http.StatusBadRequest, "unauthorized_client", "Client not allowed for direct access grants")
	}
	if fields.Get("username") == "" {
		return nil, refuse(http.StatusUnauthorized, "invalid_request", "Missing parameter: username")
	}
	user, ok, err := h.authenticate(ctx, fields.Get("username"), fields.Get("password"), address)
	var wait *waitError
	if err != nil && !errors.As(err, &wait) {
		return nil, err
	}
	if !ok { // also while the user has to wait, as Keycloak answers
		return nil, refuse(http.StatusBadRequest, "invalid_grant", "Invalid user credentials")
	}
	s := &session{User: user.Name, Created: time.Now()}
	g := s.newGrant(client.ID, scopes(fields.Get("scope")), "")
	if err := h.book.create(ctx, s); err != nil {
		return nil, err
	}
	return h.issue(ctx, client, user, s, g)
}

// Errors within a change of a session.
var (
	errReused  = errors.New("devidp: refresh token was used before")
	errNoGrant = errors.New("devidp: no such grant")
)

// refreshGrant gives new tokens for a refresh token, which is good for once. One
// that comes a second time was stolen, either before or now, so its session ends
// (RFC 9700 section 4.14.2).
func (h *handler) refreshGrant(ctx context.Context, client Client, fields url.Values) (*tokens, error) {
	if fields.Get("refresh_token") == "" {
		return nil, refuse(http.StatusBadRequest, "invalid_request", "No refresh token")
	}
	old, err := h.refreshToken(client, fields.Get("refresh_token"))
	if err != nil {
		return nil, err
	}
	var g grant
	s, err := h.book.change(ctx, old.Session, func(s *session) error {
		known := s.grant(old.Grant)
		if known == nil || known.Client != client.ID {
			return errNoGrant
		}
		if known.Refresh != old.ID {
			return errReused
		}
		known.Refresh, s.Used = uuid.NewString(), time.Now()
		g = *known
		return nil
	})
	switch {
	case errors.Is(err, errReused):
		h.note(ctx, "a refresh token came twice, so its session was ended", s, client.ID)
		if err := h.book.end(ctx, s.ID); err != nil {
			return nil, err
		}
		return nil, refuse(http.StatusBadRequest, "invalid_grant", "Maximum allowed refresh token reuse exceeded")
	case errors.Is(err, errNoSession), errors.Is(err, errNoGrant):
		return nil, refuse(http.StatusBadRequest, "invalid_grant", "Session not active")
	case err != nil:
		return nil, err
	}
	user, ok := h.users[s.User]
	if !ok || user.Subject != old.Subject {
		return nil, refuse(http.StatusBadRequest, "invalid_grant", "Session not active")
	}
	return h.issue(ctx, client, user, s, g)
}

// refreshToken reads a refresh token that was given to the client.
func (h *handler) refreshToken(client Client, token string) (claims, error) {
	var c claims
	switch err := h.ring.unseal(token, &c); {
	case err != nil, c.Kind != "Refresh", c.Issuer != h.issuer:
		return claims{}, refuse(http.StatusBadRequest, "invalid_grant", "Invalid refresh token")
	case c.Party != client.ID:
		return claims{}, refuse(http.StatusBadRequest, "invalid_grant", "Invalid refresh token. Token client and authorized client don't match")
	case time.Now().Unix() >= c.Expires:
		return claims{}, refuse(http.StatusBadRequest, "invalid_grant", "Token is not active")
	}
	return c, nil
}

func (h *handler) serviceGrant(ctx context.Context, client Client, fields url.Values) (*tokens, error) {
	switch {
	case client.Public:
		return nil, refuse(http.StatusUnauthorized, "unauthorized_client", "Public client not allowed to retrieve service account")
	case !client.Service:
		return nil, refuse(http.StatusUnauthorized, "unauthorized_client", "Client not enabled to retrieve service account")
	}
	return h.issueService(ctx, client, scopes(fields.Get("scope")))
}

// codeGrant gives tokens for the code of a login. A code that comes twice ends
// what it gave the first time (RFC 6749 section 4.1.2).
func (h *handler) codeGrant(ctx context.Context, client Client, fields url.Values) (*tokens, error) {
	if fields.Get("code") == "" {
		return nil, refuse(http.StatusBadRequest, "invalid_request", "Missing parameter: code")
	}
	mine := uuid.NewString()
	found, before, ok, err := h.codes.take(ctx, fields.Get("code"), mine)
	if err != nil {
		return nil, err
	}
	if !ok || found.Request.Client != client.ID {
		return nil, refuse(http.StatusBadRequest, "invalid_grant", "Code not valid")
	}
	if before != "" {
		if s, err := h.book.get(ctx, found.Session); err == nil {
			h.note(ctx, "a code came twice, so its session was ended", s, client.ID)
		}
		if err := h.book.end(ctx, found.Session); err != nil {
			return nil, err
		}
		return nil, refuse(http.StatusBadRequest, "invalid_grant", "Code not valid")
	}
	if fields.Get("redirect_uri") != found.Request.Redirect {
		return nil, refuse(http.StatusBadRequest, "invalid_grant", "Incorrect redirect_uri")
	}
	if err := checkVerifier(found.Request.Challenge, fields.Get("code_verifier")); err != nil {
		return nil, err
	}
	var g grant
	s, err := h.book.change(ctx, found.Session, func(s *session) error {
		g = s.newGrant(client.ID, scopes(found.Request.Scope), found.Request.Nonce)
		return nil
	})
	if errors.Is(err, errNoSession) {
		return nil, refuse(http.StatusBadRequest, "invalid_grant", "Session not active")
	}
	if err != nil {
		return nil, err
	}
	user, ok := h.users[s.User]
	if !ok {
		return nil, refuse(http.StatusBadRequest, "invalid_grant", "Session not active")
	}
	return h.issue(ctx, client, user, s, g)
}

// checkVerifier compares a verifier with the challenge of the login (RFC 7636
// section 4.6). A verifier without a challenge is refused as well (RFC 9700
// section 2.1.1).
func checkVerifier(challenge, verifier string) error {
	switch {
	case challenge == "" && verifier == "":
		return nil
	case challenge == "":
		return refuse(http.StatusBadRequest, "invalid_grant", "PKCE code verifier not expected")
	case verifier == "":
		return refuse(http.StatusBadRequest, "invalid_grant", "PKCE code verifier not specified")
	case len(verifier) < 43 || len(verifier) > 128:
		return refuse(http.StatusBadRequest, "invalid_grant", "PKCE verification failed: Invalid code verifier")
	}
	digest := sha256.Sum256([]byte(verifier))
	if subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(digest[:])), []byte(challenge)) != 1 {
		return refuse(http.StatusBadRequest, "invalid_grant", "PKCE verification failed: Code mismatch")
	}
	return nil
}
