package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Endpoints are the addresses of an issuer that are used (OpenID Connect
// Discovery section 3).
type Endpoints struct {
	// Keys has the public keys (jwks_uri).
	Keys string `json:"jwks_uri"`
	// Introspection returns whether a token is active (RFC 7662).
	Introspection string `json:"introspection_endpoint"`
	// Authorization is the address at which browsers log in.
	Authorization string `json:"authorization_endpoint"`
	// Token gives tokens.
	Token string `json:"token_endpoint"`
	// UserInfo returns the user of a token.
	UserInfo string `json:"userinfo_endpoint"`
	// EndSession is the address at which browsers log out.
	EndSession string `json:"end_session_endpoint"`
}

// metadata is what of a discovery document is used.
type metadata struct {
	Issuer string `json:"issuer"`
	Endpoints
	// IssParameter reports whether answers to logins name the issuer (RFC 9207).
	IssParameter bool `json:"authorization_response_iss_parameter_supported"`
}

// WellKnown is the path of an issuer's discovery document below its address (OpenID Connect
// Discovery 1.0 section 4).
const WellKnown = "/.well-known/openid-configuration"

// discoveryURL is the address of an issuer's discovery document.
func discoveryURL(issuer string) string { return strings.TrimSuffix(issuer, "/") + WellKnown }

// parseMetadata reads a discovery document. Members that are not used may be
// anything.
func parseMetadata(text []byte) (*metadata, error) {
	var m metadata
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("discovery document: %w", err)
	}
	if m.Issuer == "" {
		return nil, errors.New("discovery document: no issuer")
	}
	return &m, nil
}

// replace puts the addresses that are set in o in place of the known ones.
func (e *Endpoints) replace(o Endpoints) {
	for _, pair := range []struct{ known, other *string }{
		{&e.Keys, &o.Keys}, {&e.Introspection, &o.Introspection}, {&e.Authorization, &o.Authorization},
		{&e.Token, &o.Token}, {&e.UserInfo, &o.UserInfo}, {&e.EndSession, &o.EndSession},
	} {
		if *pair.other != "" {
			*pair.known = *pair.other
		}
	}
}

// issuer has the addresses and keys of one issuer.
type issuer struct {
	config   Config
	asker    *asker
	metadata *source[metadata]
	keys     *source[keySet]
}

func newIssuer(c Config) (*issuer, error) {
	i := &issuer{config: c, asker: newAsker(c)}
	if err := i.asker.allowed(c.Discovery); err != nil {
		return nil, fmt.Errorf("Config.Discovery: %w", err)
	}
	for name, address := range map[string]string{"Keys": c.Endpoints.Keys, "Introspection": c.Endpoints.Introspection,
		"Token": c.Endpoints.Token} {
		if address == "" {
			continue
		}
		if err := i.asker.allowed(address); err != nil {
			return nil, fmt.Errorf("Config.Endpoints.%s: %w", name, err)
		}
	}
	i.metadata = newSource("discovery document", c, i.loadMetadata)
	i.keys = newSource("keys", c, i.loadKeys)
	return i, nil
}

func (i *issuer) close() {
	i.keys.close()
	i.metadata.close()
}

// name is what tokens must say as their issuer.
func (i *issuer) name(ctx context.Context) (string, error) {
	if i.config.Issuer != "" {
		return i.config.Issuer, nil
	}
	m, err := i.metadata.get(ctx)
	if err != nil {
		return "", err
	}
	return m.Issuer, nil
}

func (i *issuer) loadMetadata(ctx context.Context, old *metadata) (*metadata, time.Duration, error) {
	got, err := i.asker.get(ctx, i.config.Discovery)
	if err != nil {
		return nil, 0, err
	}
	m, err := parseMetadata(got.body)
	if err != nil {
		return nil, 0, fmt.Errorf("fetch %q: %w", i.config.Discovery, err)
	}
	// A document at the issuer's own address must be that issuer's (OpenID
	// Connect Discovery section 4.3). Fetched elsewhere it may know itself by
	// another name.
	if i.config.Issuer != "" && i.config.Discovery == discoveryURL(i.config.Issuer) && m.Issuer != i.config.Issuer {
		return nil, 0, fmt.Errorf("fetch %q: the document is of the issuer %q", i.config.Discovery, m.Issuer)
	}
	m.replace(i.config.Endpoints)
	if old != nil && *old == *m {
		m = old
	}
	return m, i.age(got), nil
}

func (i *issuer) loadKeys(ctx context.Context, old *keySet) (*keySet, time.Duration, error) {
	address, err := i.endpoint(ctx, "jwks_uri", func(e Endpoints) string { return e.Keys })
	if err != nil {
		return nil, 0, err
	}
	got, err := i.asker.get(ctx, address)
	if err != nil {
		return nil, 0, err
	}
	keys, err := parseKeys(got.body)
	if err != nil {
		return nil, 0, fmt.Errorf("fetch %q: %w", address, err)
	}
	if old != nil && old.digest == keys.digest {
		keys = old // so that verified tokens are still known
	}
	return keys, i.age(got), nil
}

func (i *issuer) age(got answer) time.Duration {
	if age := got.lifetime(); age > 0 {
		return age
	}
	return keysAge
}

// endpoint returns an address, of the configuration or of the document.
func (i *issuer) endpoint(ctx context.Context, name string, which func(Endpoints) string) (string, error) {
	if address := which(i.config.Endpoints); address != "" {
		return address, nil
	}
	m, err := i.metadata.get(ctx)
	if err != nil {
		return "", err
	}
	if address := which(m.Endpoints); address != "" {
		return address, nil
	}
	return "", fmt.Errorf("discovery document %q: %w: no %s", i.config.Discovery, ErrUnreachable, name)
}

// post calls an endpoint as this client, which authenticates if it has a secret.
func (i *issuer) post(ctx context.Context, address string, form url.Values) (answer, error) {
	c := i.config
	switch {
	case c.ClientSecret == "":
		form.Set("client_id", c.ClientID)
	case c.ClientAuth == SecretPost:
		form.Set("client_id", c.ClientID)
		form.Set("client_secret", c.ClientSecret)
	default:
		return i.asker.ask(ctx, http.MethodPost, address, form, func(r *http.Request) {
			r.SetBasicAuth(url.QueryEscape(c.ClientID), url.QueryEscape(c.ClientSecret)) // RFC 6749 section 2.3.1
		})
	}
	return i.asker.ask(ctx, http.MethodPost, address, form, nil)
}

// refused reads an answer that is not a success (RFC 6749 section 5.2). A
// refusal of the request is distinguished from an issuer in trouble by the status.
func (i *issuer) refused(address string, got answer) error {
	var said struct {
		Code        string `json:"error"`
		Description string `json:"error_description"`
	}
	isJSON := json.Unmarshal(got.body, &said) == nil && said.Code != ""
	if got.status != http.StatusUnauthorized && (got.status < 400 || got.status >= 500 || !isJSON) {
		return fmt.Errorf("ask %q: %w: status %d", address, ErrUnreachable, got.status)
	}
	return fmt.Errorf("ask %q as client %q: %w", address, i.config.ClientID, refusal(said.Code, said.Description, got.status))
}
