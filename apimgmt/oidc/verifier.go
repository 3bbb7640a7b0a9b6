package oidc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// maxToken is the greatest length of a token in bytes, more than what servers
// take as headers by default for half of them.
const maxToken = 16 << 10

// Verifier checks tokens of one issuer. It is created with [New] and safe for
// concurrent use.
type Verifier struct {
	issuer   *issuer
	allowed  []jose.SignatureAlgorithm
	cache    *cache
	cachedBy atomic.Pointer[keySet] // the keys that verified what the cache holds

	answers *cache // of introspection
	flights flights
	breaker breaker
}

// New returns a Verifier. It sends no request before the first token. Errors
// name the field of the configuration.
func New(c Config) (*Verifier, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("new verifier: %w", err)
	}
	from, err := newIssuer(c)
	if err != nil {
		return nil, fmt.Errorf("new verifier: %w", err)
	}
	v := &Verifier{issuer: from, cache: newCache(c.CacheEntries, cacheBytes), answers: newCache(c.CacheEntries, cacheBytes)}
	for _, algorithm := range c.Algorithms {
		v.allowed = append(v.allowed, jose.SignatureAlgorithm(algorithm))
	}
	v.flights.under = make(map[digest]chan struct{})
	v.breaker.longest = c.KeysRetry
	return v, nil
}

// Close ends what was fetched behind the scenes and waits for it. The Verifier
// may be used on, but does not refresh keys ahead of need any more. It always
// returns nil and may be called twice.
func (v *Verifier) Close() error {
	v.issuer.close()
	return nil
}

// Ready returns nil if tokens can be checked: the issuer's keys are known, or can
// be fetched now. Else the error is ErrUnreachable, or the context's.
func (v *Verifier) Ready(ctx context.Context) error {
	if _, err := v.issuer.keys.get(ctx); err != nil {
		return fmt.Errorf("fetch keys: %w", err)
	}
	if _, err := v.issuer.name(ctx); err != nil {
		return fmt.Errorf("fetch issuer: %w", err)
	}
	return nil
}

// Verify checks an access token, without "Bearer" before it, and returns what it
// says. The error is one of the sentinels of this package, or the context's.
func (v *Verifier) Verify(ctx context.Context, token string) (*Claims, error) {
	claims, err := v.verify(ctx, token)
	if err != nil {
		return nil, fmt.Errorf("verify token: %w", err)
	}
	return claims, nil
}

func (v *Verifier) verify(ctx context.Context, token string) (*Claims, error) {
	if err := plausible(token); err != nil {
		return nil, err
	}
	keys, err := v.issuer.keys.get(ctx)
	if err != nil {
		return nil, err
	}
	v.forget(keys)
	of, now := tokenDigest(token), time.Now()
	if known, ok := v.cache.get(of, now); ok && known.keys == keys {
		// What else is checked of a token depends on nothing that changes.
		if err := known.claims.timely(now, v.issuer.config.Skew); err != nil {
			return nil, err
		}
		return known.claims, nil
	}
	name, err := v.issuer.name(ctx)
	if err != nil {
		return nil, err
	}
	c := v.issuer.config
	claims, keys, err := v.signed(ctx, token, name)
	if err != nil {
		return nil, err
	}
	if err := claims.bearer(); err != nil {
		return nil, err
	}
	if err := claims.check(expectation{issuer: name, audience: c.Audience, parties: c.AuthorizedParties, skew: c.Skew}, now); err != nil {
		return nil, err
	}
	v.cache.put(of, remembered{claims: claims, keys: keys, until: claims.Expires.Add(c.Skew)})
	return claims, nil
}

// plausible refuses what needs no closer look.
func plausible(token string) error {
	switch {
	case token == "":
		return ErrMissing
	case len(token) > maxToken:
		return fmt.Errorf("%w: longer than %d bytes", ErrMalformed, maxToken)
	}
	return nil
}

// forget empties the cache when the keys have changed.
func (v *Verifier) forget(keys *keySet) {
	if old := v.cachedBy.Load(); old != keys && v.cachedBy.CompareAndSwap(old, keys) && old != nil {
		v.cache.flush()
	}
}

// signed checks the signature, with newer keys if the token's is not known, and
// returns the claims with the keys that it was found among.
func (v *Verifier) signed(ctx context.Context, token, name string) (*Claims, *keySet, error) {
	parsed, header, err := parseToken(token, v.allowed)
	if err != nil {
		return nil, nil, err
	}
	claims, _, err := parseClaims(parsed.UnsafePayloadWithoutVerification())
	if err != nil {
		return nil, nil, err
	}
	keys, err := v.issuer.keys.get(ctx)
	if err != nil {
		return nil, nil, err
	}
	candidates := keys.find(header.KeyID, header.Algorithm)
	if len(candidates) == 0 {
		if claims.Issuer != name { // whose keys we need not look for
			return nil, nil, fmt.Errorf("%w: %q, expected %q", ErrIssuer, short(claims.Issuer), name)
		}
		newer, failure := v.issuer.keys.newer(ctx, keys)
		if newer != nil {
			keys = newer
		}
		candidates = keys.find(header.KeyID, header.Algorithm)
		if len(candidates) == 0 && failure != nil {
			return nil, nil, fmt.Errorf("key %q: %w", short(header.KeyID), failure)
		}
	}
	return claims, keys, verified(parsed, header, candidates)
}

// parseToken takes a token apart. Nothing of it is verified yet.
func parseToken(token string, allowed []jose.SignatureAlgorithm) (*jose.JSONWebSignature, jose.Header, error) {
	if strings.ContainsFunc(token, strange) { // base64 decoding passes over line breaks
		return nil, jose.Header{}, fmt.Errorf("%w: neither base64url nor a dot", ErrMalformed)
	}
	parsed, err := jose.ParseSignedCompact(token, allowed)
	var unexpected *jose.ErrUnexpectedSignatureAlgorithm
	switch {
	case errors.As(err, &unexpected):
		return nil, jose.Header{}, fmt.Errorf("%w: %q", ErrAlgorithm, short(string(unexpected.Got)))
	case err != nil:
		return nil, jose.Header{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	case len(parsed.Signatures) != 1:
		return nil, jose.Header{}, fmt.Errorf("%w: %d signatures", ErrMalformed, len(parsed.Signatures))
	}
	header := parsed.Signatures[0].Protected
	// RFC 9068 section 4, RFC 8725 section 3.11. The type of the content is
	// for tokens within tokens.
	kind, _ := header.ExtraHeaders[jose.HeaderType].(string)
	switch strings.TrimPrefix(strings.ToLower(kind), "application/") {
	case "", "jwt", "at+jwt":
	default:
		return nil, jose.Header{}, fmt.Errorf("%w: typ %q", ErrType, short(kind))
	}
	return parsed, header, nil
}

func strange(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
}

// verified checks the signature with the keys to which its algorithm belongs.
func verified(parsed *jose.JSONWebSignature, header jose.Header, candidates []key) error {
	if len(candidates) == 0 {
		return fmt.Errorf("%w: %q", ErrUnknownKey, short(header.KeyID))
	}
	fit := false
	for _, k := range candidates {
		if !slices.Contains(k.algorithms, header.Algorithm) {
			continue
		}
		fit = true
		if _, err := parsed.Verify(k.public); err == nil {
			return nil
		}
	}
	if !fit {
		return fmt.Errorf("%w: %s with key %q", ErrAlgorithm, header.Algorithm, short(header.KeyID))
	}
	return ErrSignature
}
