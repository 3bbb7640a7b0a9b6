// Package plugin has the built-in plugins of the gateway. Their names, configurations,
// priorities and answers are those of Kong's plugins, if Kong has them. What a plugin does
// not support is refused when it is configured. In the order of their priorities:
//
//	cors                    2000  pages of which origins may call from a browser
//	key-auth                1250  callers show the key of a consumer
//	oidc                    1000  callers show a token of an OpenID Connect issuer, or sign in
//	request-validator        999  requests are checked against a definition
//	ip-restriction           990  only some addresses may call
//	request-size-limiting    951  how long bodies may be
//	acl                      950  only some groups may call
//	rate-limiting            910  how often callers may call
//	request-transformer      801  what the service gets of a request
//	deprecation               15  answers say that the API goes away
//	prometheus                13  accepted; the gateway measures in any case
//	request-termination        2  an answer without the service
//
// # Caller identity
//
// Services trust X-Consumer-*, X-Credential-*, X-Userinfo and similar header fields.
// key-auth, oidc and acl therefore remove such fields from requests, in any spelling that a
// server accepts, before the first of them sets its own. On a route without these plugins
// nothing is removed: secure a service as a whole before it trusts these fields.
package plugin

import "github.com/iotenablers/enablers/apimgmt/gateway"

// Options are what the plugins of one gateway share with those of other gateways that serve
// the same configuration. The zero value shares nothing.
type Options struct {
	// Counts are the counts of rate-limiting. Nil means that each gateway counts for itself, and
	// that the policy cluster is not supported.
	Counts *Counts
	// Secret returns the secret that seals the session cookies of oidc plugins whose
	// configuration has none that is long enough: 32 random bytes. With the same secret, a
	// person who has signed in at one gateway is signed in at all of them, and after a restart.
	// It is called for each plugin that is compiled. Nil, and an empty secret, mean a secret of
	// this process.
	Secret func() string
	// ClientSecrets are the secrets that configurations of oidc may refer to.
	ClientSecrets []ClientSecret
}

// Kinds returns all built-in kinds, in the order of their priorities. The slice is the
// caller's.
func Kinds() []gateway.Kind { return SharedKinds(Options{}) }

// SharedKinds is [Kinds] for a gateway that is one of several.
func SharedKinds(options Options) []gateway.Kind {
	return []gateway.Kind{
		CORS(),
		KeyAuth(),
		oidcWith(options),
		RequestValidator(),
		IPRestriction(),
		RequestSizeLimiting(),
		ACL(),
		rateLimitingWith(options.Counts),
		RequestTransformer(),
		Deprecation(),

		Prometheus(),
		RequestTermination(),
	}
}

// configured returns a kind whose configuration is a C. defaults returns one with its
// defaults, nil means the zero value; compile gets one that is decoded.
func configured[C any](
	kind gateway.Kind, defaults func() *C, compile func(*C, gateway.Setup) (gateway.Plugin, error),
) gateway.Kind {
	if defaults == nil {
		defaults = func() *C { return new(C) }
	}
	kind.Config = func() any { return defaults() }
	kind.Compile = func(setup gateway.Setup) (gateway.Plugin, error) {
		c := defaults()
		if err := setup.Decode(c); err != nil {
			return gateway.Plugin{}, err
		}
		return compile(c, setup)
	}
	return kind
}
