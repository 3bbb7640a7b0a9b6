package plugin

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/oidc"
)

// verifiers are shared by the plugins of one kind that use the same issuer in the
// same way: a definition with the extension on each of a hundred operations has a
// hundred plugins, which so fetch the issuer's keys once, and refresh a session
// once. Whatever differs in how tokens are judged makes another verifier, with a
// cache of its own.
type verifiers struct {
	mu    sync.Mutex
	known map[verifierKey]*sharedVerifier
	// secret returns what seals the cookies of configurations without a secret.
	secret        func() string
	clientSecrets []ClientSecret
}

// verifierKey is all that a verifier depends on.
type verifierKey struct {
	client                                       *http.Client
	trusting, logsIn                             bool
	issuer, discovery, introspection, id, secret string
	introspectionAuth, tokenAuth, scope, timeout string
}

// sharedVerifier is what plugins share.
type sharedVerifier struct {
	verifier *oidc.Verifier
	client   *oidc.Client // for logins; nil if none exist
	renewals renewals
	http     *http.Client // of its own, or nil
	users    int          // guarded by verifiers.mu
}

// acquire returns what a configuration needs; release is called once by each user.
func (v *verifiers) acquire(c *oidcConfig, setup gateway.Setup) (_ *sharedVerifier, release func() error, err error) {
	key := verifierKey{
		client: setup.Client, trusting: !bool(c.SSLVerify), logsIn: !bool(c.BearerOnly),
		issuer: string(c.Issuer), discovery: string(c.Discovery), introspection: string(c.IntrospectionEndpoint), id: string(c.ClientID),
		secret: string(c.ClientSecret), introspectionAuth: string(c.IntrospectionEndpointAuthMethod),
		tokenAuth: string(c.TokenEndpointAuthMethod), scope: string(c.Scope), timeout: c.timeout.String(),
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	shared := v.known[key]
	if shared == nil {
		if shared, err = newShared(c, setup); err != nil {
			return nil, nil, err
		}
		v.known[key] = shared
	}
	shared.users++
	return shared, func() error { return v.release(key, shared) }, nil
}

func newShared(c *oidcConfig, setup gateway.Setup) (_ *sharedVerifier, err error) {
	s := &sharedVerifier{}
	config := c.issuer(setup)
	if !c.SSLVerify {
		if s.http, err = trusting(setup.Client); err != nil {
			return nil, err
		}
		config.HTTPClient = s.http
	}
	if s.verifier, err = oidc.New(config); err != nil {
		return nil, fmt.Errorf("config.discovery: %w", err)
	}
	if c.BearerOnly {
		return s, nil
	}
	config.ClientAuth, config.Endpoints = string(c.TokenEndpointAuthMethod), oidc.Endpoints{}
	s.client, err = oidc.NewClient(oidc.ClientConfig{Config: config, Scopes: append([]string{}, strings.Fields(string(c.Scope))...)})
	if err != nil {
		return nil, fmt.Errorf("config.discovery: %w", err)
	}
	return s, nil
}

func (v *verifiers) release(key verifierKey, shared *sharedVerifier) error {
	v.mu.Lock()
	shared.users--
	last := shared.users == 0
	if last {
		delete(v.known, key)
	}
	v.mu.Unlock()
	if !last {
		return nil
	}
	shared.renewals.close()
	err := shared.verifier.Close()
	if shared.client != nil {
		err = errors.Join(err, shared.client.Close())
	}
	if shared.http != nil {
		shared.http.CloseIdleConnections()
	}
	return err
}

// trusting returns a client that connects as another one does, and takes every
// certificate.
func trusting(client *http.Client) (*http.Client, error) {
	transport, ok := client.Transport.(*http.Transport)
	if client.Transport == nil {
		transport, ok = http.DefaultTransport.(*http.Transport)
	}
	if !ok {
		return nil, errors.New("config.ssl_verify: the gateway's client cannot do without verifying")
	}
	transport = transport.Clone()
	if transport.TLSClientConfig == nil {
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	transport.TLSClientConfig.InsecureSkipVerify = true
	return &http.Client{Transport: transport}, nil
}

// requirement is a list of alternatives, each of which is a list of words that
// have to be there. An empty one is always met.
type requirement [][]string

// alternatives reads requirements as Kong's openid-connect writes them.
func alternatives(texts []string) requirement {
	var r requirement
	for _, text := range texts {
		r = append(r, strings.Fields(text))
	}
	return r
}
