package devidp

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// discovery answers GET …/.well-known/openid-configuration (OpenID Connect
// Discovery section 4).
func (h *handler) discovery(w http.ResponseWriter, _ *http.Request) error {
	protocol := h.issuer + "/protocol/openid-connect"
	w.Header().Set("Access-Control-Allow-Origin", "*")
	writeJSON(w, http.StatusOK, map[string]any{
		"issuer":                                        h.issuer,
		"authorization_endpoint":                        protocol + "/auth",
		"token_endpoint":                                protocol + "/token",
		"introspection_endpoint":                        protocol + "/token/introspect",
		"userinfo_endpoint":                             protocol + "/userinfo",
		"end_session_endpoint":                          protocol + "/logout",
		"jwks_uri":                                      protocol + "/certs",
		"grant_types_supported":                         []string{"authorization_code", "client_credentials", "password", "refresh_token"},
		"response_types_supported":                      []string{"code"},
		"response_modes_supported":                      []string{"query"},
		"subject_types_supported":                       []string{"public"},
		"prompt_values_supported":                       []string{"none", "login"},
		"id_token_signing_alg_values_supported":         []string{"RS256"},
		"token_endpoint_auth_methods_supported":         []string{"client_secret_basic", "client_secret_post", "none"},
		"introspection_endpoint_auth_methods_supported": []string{"client_secret_basic", "client_secret_post"},
		"claims_supported": []string{"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce",
			"name", "given_name", "family_name", "preferred_username", "email"},
		"scopes_supported":                               []string{"openid", "profile", "email"},
		"code_challenge_methods_supported":               []string{"S256"},
		"authorization_response_iss_parameter_supported": true,
	})
	return nil
}

// certsWait is how long the answer of certs waits for the store.
const certsWait = time.Second

// certs answers GET …/certs with the keys (RFC 7517 section 5).
// Keys that another instance has created are among them: a verifier has seen a key
// that it does not know. While the store is away they are those that were last read, and
// come before the verifier gives up.
func (h *handler) certs(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), certsWait)
	_ = h.ring.refresh(ctx)
	cancel()
	w.Header().Set("Access-Control-Allow-Origin", "*")
	writeJSON(w, http.StatusOK, h.ring.public(time.Now()))
	return nil
}

// introspection is an answer of introspect.
type introspection struct {
	Active bool `json:"active"`
	*claims
	Username  string `json:"username,omitempty"`
	TokenType string `json:"token_type,omitempty"`
}

// introspect answers POST …/token/introspect (RFC 7662 section 2) to clients
// that authenticate.
func (h *handler) introspect(w http.ResponseWriter, r *http.Request) error {
	fields, err := form(r)
	if err != nil {
		return err
	}
	client, err := h.authenticateClient(r, fields)
	switch {
	case err != nil:
		return refuse(http.StatusUnauthorized, "invalid_client", "Client authentication failed.")
	case client.Public:
		return refuse(http.StatusForbidden, "invalid_request", "Client not allowed.")
	case fields.Get("token") == "":
		return refuse(http.StatusBadRequest, "invalid_request", "Token not provided.")
	}
	answer := introspection{}
	c, s, err := h.active(r.Context(), fields.Get("token"))
	switch {
	case err == nil:
		answer = introspection{Active: true, claims: &c, TokenType: "Bearer", Username: c.profile.Username}
		answer.claims.ClientID = c.Party
		if s != nil {
			answer.Username = s.User
		}
	case !errors.Is(err, errToken) && !errors.Is(err, errNoSession):
		return err
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
}

// userinfo answers GET and POST …/userinfo (OpenID Connect Core section 5.3).
func (h *handler) userinfo(w http.ResponseWriter, r *http.Request) error {
	challenge := `Bearer realm="` + h.config.Realm.Name + `"`
	token := bearer(r)
	if token == "" && r.Method == http.MethodPost {
		fields, err := form(r)
		if err != nil {
			return err
		}
		token = fields.Get("access_token")
	}
	if token == "" {
		w.Header().Set("WWW-Authenticate", challenge)
		return refuse(http.StatusUnauthorized, "invalid_request", "Token not provided")
	}
	c, s, err := h.active(r.Context(), token)
	if errors.Is(err, errToken) || errors.Is(err, errNoSession) || (err == nil && s == nil) {
		w.Header().Set("WWW-Authenticate", challenge+`, error="invalid_token", error_description="Token verification failed"`)
		return refuse(http.StatusUnauthorized, "invalid_token", "Token verification failed")
	}
	if err != nil {
		return err
	}
	allowOrigin(w, r, h.clients[c.Party])
	if !hasScope(c.Scope, "openid") {
		w.Header().Set("WWW-Authenticate", challenge+`, error="insufficient_scope", error_description="Missing openid scope"`)
		return refuse(http.StatusForbidden, "insufficient_scope", "Missing openid scope")
	}
	writeJSON(w, http.StatusOK, struct {
		Subject string       `json:"sub"`
		Roles   *realmAccess `json:"realm_access,omitempty"`
		profile
	}{c.Subject, c.Roles, c.profile})
	return nil
}
