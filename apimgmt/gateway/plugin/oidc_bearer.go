package plugin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/oidc"
)

// oidcPlugin is a compiled configuration.
type oidcPlugin struct {
	verifier                    *oidc.Verifier
	login                       *login // nil if only bearer tokens count
	introspects, introspectsAll bool
	skip                        *filter
	roles, scopes, audience     requirement
	realm                       string // quoted
	client                      string // its identifier
	lacks                       error  // why tokens cannot be checked; nil if they can
	log                         *slog.Logger

	callers  callers
	reported atomic.Int64 // when a failure was logged, in seconds
}

// access lets authenticated requests pass.
func (p *oidcPlugin) access(x *gateway.Exchange) *gateway.Answer {
	removeIdentity(x)
	removeCookies(x)
	if p.skip.skips(x.Path()) || (p.login != nil && p.login.recovery != "" && x.Path() == p.login.recovery) {
		return nil
	}
	if p.lacks != nil {
		return p.refusal(x.Context(), p.lacks)
	}
	token, found, ok := bearer(x.Request().Header["Authorization"])
	switch {
	case !ok:
		return p.refuse(http.StatusBadRequest, "invalid_request", "more than one Authorization header")
	case !found && p.login != nil:
		return p.browser(x)
	case !found:
		return p.refuse(http.StatusUnauthorized, "no Authorization header found", "")
	}
	claims, err := p.check(x.Context(), token)
	if err != nil {
		return p.refusal(x.Context(), err)
	}
	return p.admit(x, claims)
}

// bearer returns the token of an Authorization field (RFC 6750, 2.1). found is
// false if none exists; ok is false if there are several fields, of which a
// service might read another one.
func bearer(fields []string) (token string, found, ok bool) {
	switch len(fields) {
	case 0:
		return "", false, true
	case 1:
	default:
		return "", false, false
	}
	scheme, token, _ := strings.Cut(fields[0], " ")
	if !strings.EqualFold(scheme, "bearer") {
		return "", false, true
	}
	token = strings.TrimSpace(token)
	return token, token != "", true
}

// check verifies a token, or introspects it.
func (p *oidcPlugin) check(ctx context.Context, token string) (*oidc.Claims, error) {
	if p.introspects && (p.introspectsAll || strings.Count(token, ".") != 2) {
		return p.verifier.Introspect(ctx, token)
	}
	return p.verifier.Verify(ctx, token)
}

// admit lets a caller with all that is required pass, and sends its identity to the service.
func (p *oidcPlugin) admit(x *gateway.Exchange, claims *oidc.Claims) *gateway.Answer {
	who := p.callers.get(claims)
	switch {
	case !p.audience.met(claims.Audience):
		return p.refuse(http.StatusUnauthorized, "invalid_token", "the token is for another audience")
	case !p.scopes.met(claims.Scopes):
		return p.refuse(http.StatusForbidden, "insufficient_scope", "the token lacks a scope")
	case !p.roles.met(claims.Roles):
		return p.refuse(http.StatusForbidden, "insufficient_scope", "the token lacks a role")
	}
	x.Upstream().Header["X-Userinfo"] = who.userinfo
	if x.Identity().Consumer == nil {
		x.Authenticate(gateway.Identity{Subject: claims.Subject, Credential: who.credential, Claims: claims})
	}
	return nil
}

// met reports whether one of the alternatives is given as a whole.
func (r requirement) met(given []string) bool {
	return len(r) == 0 || slices.ContainsFunc(r, func(all []string) bool {
		return !slices.ContainsFunc(all, func(word string) bool { return !slices.Contains(given, word) })
	})
}

// reasons are the answers to clients with refused tokens. Errors that are
// none of these say nothing about the token.
func reasons() []reason { return tokenReasons[:] }

type reason struct {
	err  error
	text string
}

var tokenReasons = [...]reason{
	{oidc.ErrMissing, "there is no token"},
	{oidc.ErrExpired, "the token has expired"},
	{oidc.ErrNotYetValid, "the token is not valid yet"},
	{oidc.ErrInactive, "the token is not active"},
	{oidc.ErrSignature, "the signature is wrong"},
	{oidc.ErrUnknownKey, "the signing key is unknown"},
	{oidc.ErrAlgorithm, "the signature algorithm is not allowed"},
	{oidc.ErrIssuer, "the token is of another issuer"},
	{oidc.ErrAudience, "the token is for another audience"},
	{oidc.ErrType, "the token is of another type"},
	{oidc.ErrMalformed, "the token is malformed"},
}

// refusalReason is the answer for an error; empty if the token is not at fault.
func refusalReason(err error) string {
	if errors.Is(err, oidc.ErrUnreachable) {
		return ""
	}
	for _, r := range reasons() {
		if errors.Is(err, r.err) {
			return r.text
		}
	}
	return ""
}

func aboutToken(err error) bool { return refusalReason(err) != "" }

// refusal answers an error of check.
func (p *oidcPlugin) refusal(ctx context.Context, err error) *gateway.Answer {
	if reason := refusalReason(err); reason != "" {
		return p.refuse(http.StatusUnauthorized, "invalid_token", reason)
	}
	p.report(ctx, err)
	message := "tokens cannot be checked"
	switch {
	case errors.Is(err, oidc.ErrClient):
		message = fmt.Sprintf("the identity provider refuses the credentials of the gateway's client %q", p.client)
	case errors.Is(err, oidc.ErrUnreachable):
		message = "the identity provider cannot be reached"
	}
	answer := gateway.Refuse(http.StatusServiceUnavailable, message)
	answer.Header["Retry-After"] = []string{"5"}
	return answer
}

// report logs that tokens cannot be checked, once in ten seconds.
func (p *oidcPlugin) report(ctx context.Context, err error) {
	if ctx.Err() != nil { // the client has gone
		return
	}
	const pause = 10
	now, last := time.Now().Unix(), p.reported.Load()
	if now-last < pause || !p.reported.CompareAndSwap(last, now) {
		return
	}
	attributes := []slog.Attr{slog.Any("error", err)}
	if errors.Is(err, oidc.ErrClient) {
		attributes = append(attributes, slog.String("client_id", p.client),
			slog.String("remedy", "give client_secret the secret that the client has at the identity provider"))
	}
	p.log.LogAttrs(ctx, slog.LevelWarn, "cannot check tokens", attributes...)
}

// refuse answers as kong-oidc does, with a description as RFC 6750 section 3 has
// it.
func (p *oidcPlugin) refuse(status int, code, description string) *gateway.Answer {
	value := "Bearer realm=" + p.realm + `,error="` + code + `"`
	if description != "" {
		value += `,error_description="` + description + `"`
	}
	return &gateway.Answer{Status: status, Text: code, Header: http.Header{
		"Www-Authenticate": {value}, "Content-Type": {"text/plain; charset=utf-8"}, "Cache-Control": {"no-store"},
	}}
}

// caller is the caller of a request, derived from claims.
type caller struct {
	claims     *oidc.Claims
	userinfo   []string // the value of X-Userinfo
	credential string
}

// callers caches some of the last callers. The zero value is ready to
// use, and safe for concurrent use.
type callers struct {
	seed  atomic.Pointer[maphash.Seed]
	slots [callerSlots]atomic.Pointer[caller]
}

// Bounds of what is cached: about 5 MB.
const (
	callerSlots   = 512
	callerLongest = 4096
)

func (c *callers) get(claims *oidc.Claims) *caller {
	seed := c.seed.Load()
	if seed == nil {
		made := maphash.MakeSeed()
		c.seed.CompareAndSwap(nil, &made)
		seed = c.seed.Load()
	}
	slot := &c.slots[maphash.Comparable(*seed, claims)%callerSlots]
	if known := slot.Load(); known != nil && known.claims == claims {
		return known
	}
	made := &caller{claims: claims, userinfo: []string{userinfo(claims)}, credential: claims.Issuer + "#" + claims.Subject}
	if len(claims.Raw) <= callerLongest {
		slot.Store(made)
	}
	return made
}

// userinfo is the value of X-Userinfo: the claims, with id and username as
// kong-oidc adds them.
func userinfo(claims *oidc.Claims) string {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(claims.Raw, &members); err != nil { // they were read before
		members = map[string]json.RawMessage{}
	}
	for name, value := range map[string]string{"id": claims.Subject, "username": claims.Username} {
		if encoded, err := json.Marshal(value); err == nil && value != "" {
			members[name] = encoded
		}
	}
	encoded, err := json.Marshal(members)
	if err != nil { // they are JSON
		return ""
	}
	return base64.StdEncoding.EncodeToString(encoded)
}
