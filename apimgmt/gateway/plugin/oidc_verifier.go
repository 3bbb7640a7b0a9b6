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

// verifiers are shared by the plugins of one kind that ask the same issuer in the
// same way: a definition with the extension on each of a hundred operations has a
// hundred plugins, which so fetch the issuer's keys once. Whatever differs in how
// tokens are judged makes another verifier, with a cache of its own.
type verifiers struct {
	mu    sync.Mutex
	known map[verifierKey]*sharedVerifier
}

// verifierKey is all that a verifier depends on.
type verifierKey struct {
	config  oidcConfigKey
	client  *http.Client
	trusted bool
}

// oidcConfigKey is the part of oidc.Config that a plugin sets.
type oidcConfigKey struct {
	issuer, discovery, introspection, id, secret, auth, timeout string
}

type sharedVerifier struct {
	*oidc.Verifier
	client *http.Client // of its own, or nil
	users  int          // guarded by verifiers.mu
}

// acquire returns the verifier of a configuration; release is called once by each
// user.
func (v *verifiers) acquire(c *oidcConfig, setup gateway.Setup) (_ *oidc.Verifier, release func() error, err error) {
	key := verifierKey{client: setup.Client, trusted: !bool(c.SSLVerify), config: oidcConfigKey{
		issuer: string(c.Issuer), discovery: string(c.Discovery), introspection: string(c.IntrospectionEndpoint), id: string(c.ClientID),
		secret: string(c.ClientSecret), auth: string(c.IntrospectionEndpointAuthMethod), timeout: c.timeout.String(),
	}}
	v.mu.Lock()
	defer v.mu.Unlock()
	shared := v.known[key]
	if shared == nil {
		shared = &sharedVerifier{}
		config := c.issuer(setup)
		if !c.SSLVerify {
			if shared.client, err = trusting(setup.Client); err != nil {
				return nil, nil, err
			}
			config.HTTPClient = shared.client
		}
		if shared.Verifier, err = oidc.New(config); err != nil {
			return nil, nil, fmt.Errorf("config.discovery: %w", err)
		}
		v.known[key] = shared
	}
	shared.users++
	return shared.Verifier, func() error { return v.release(key, shared) }, nil
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
	if shared.client != nil {
		defer shared.client.CloseIdleConnections()
	}
	return shared.Close()
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
