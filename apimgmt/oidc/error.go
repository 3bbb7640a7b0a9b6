package oidc

import (
	"errors"
	"fmt"
	"net/http"
)

// Why a token is refused, or could not be checked. Match with [errors.Is].
var (
	// ErrMissing is returned when there is no token at all.
	ErrMissing = errors.New("oidc: no token")
	// ErrMalformed is returned for what is not a signed JWT, is larger than 16
	// KiB, lacks a claim it must have, or has one of the wrong type.
	ErrMalformed = errors.New("oidc: malformed token")
	// ErrAlgorithm is returned for a signature algorithm that is not allowed,
	// "none" and HMAC among them, or that does not belong to the key.
	ErrAlgorithm = errors.New("oidc: signature algorithm not allowed")
	// ErrType is returned for a token of another type, such as a refresh token
	// where an access token is expected.
	ErrType = errors.New("oidc: wrong type of token")
	// ErrExpired is returned after a token's exp.
	ErrExpired = errors.New("oidc: token has expired")
	// ErrNotYetValid is returned before a token's nbf, or its iat.
	ErrNotYetValid = errors.New("oidc: token is not valid yet")
	// ErrIssuer is returned for a token of another issuer.
	ErrIssuer = errors.New("oidc: wrong issuer")
	// ErrAudience is returned for a token that is meant for another audience, or
	// that was given to a client which may not use it here.
	ErrAudience = errors.New("oidc: wrong audience")
	// ErrNonce is returned for an ID token that answers another login.
	ErrNonce = errors.New("oidc: wrong nonce")
	// ErrSignature is returned when the signature does not match the content.
	ErrSignature = errors.New("oidc: bad signature")
	// ErrUnknownKey is returned when the issuer has no key by the name that the
	// token gives.
	ErrUnknownKey = errors.New("oidc: unknown key")
	// ErrInactive is returned when the issuer says that a token is not active:
	// expired, revoked, or never given.
	ErrInactive = errors.New("oidc: token is not active")
	// ErrUnreachable is returned when the issuer has to be called and does not
	// answer, or answers nonsense. It says nothing about the token.
	ErrUnreachable = errors.New("oidc: issuer cannot be reached")
	// ErrClient is returned when the issuer refuses the credentials of this client (RFC 6749
	// section 5.2: invalid_client, unauthorized_client, or status 401), as it does after the
	// secret was changed there. It says nothing about the token. The error is a [*Refusal] as well.
	ErrClient = errors.New("oidc: issuer refuses the credentials of this client")
	// ErrState is returned when an answer to a login does not belong to it.
	ErrState = errors.New("oidc: answer to another login")
)

// Refusal is an error of the OAuth protocol that the issuer answered with (RFC
// 6749 sections 4.1.2.1 and 5.2).
type Refusal struct {
	// Code is the protocol's name of the error, such as "invalid_grant". It is empty for an answer
	// with status 401 that names none.
	Code string
	// Description is the issuer's text, cut to 200 bytes. It may be empty.
	Description string
	// Status is the HTTP status of the answer, 0 for one that came by way of
	// the browser.
	Status int
}

// Error returns the code and the description, quoted, since both come from
// elsewhere.
func (r *Refusal) Error() string {
	switch {
	case r.Code == "":
		return fmt.Sprintf("issuer refuses: status %d", r.Status)
	case r.Description == "":
		return fmt.Sprintf("issuer refuses: %q", r.Code)
	}
	return fmt.Sprintf("issuer refuses: %q: %q", r.Code, r.Description)
}

// Is reports whether it is the client that was refused, [ErrClient]. Keycloak answers wrong credentials
// with several codes, and always with status 401.
func (r *Refusal) Is(target error) bool {
	if target != ErrClient || r.Status == 0 {
		return false
	}
	switch r.Code {
	case "invalid_client", "unauthorized_client":
		return true
	case "invalid_grant", "invalid_token": // of some issuers with status 401, where RFC 6749 says 400
		return false
	}
	return r.Status == http.StatusUnauthorized
}

// refusal creates a Refusal of texts that the issuer chose.
func refusal(code, description string, status int) *Refusal {
	const most = 200
	return &Refusal{Code: code[:min(len(code), most)], Description: description[:min(len(description), most)], Status: status}
}
