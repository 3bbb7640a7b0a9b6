// Package plugin has the built-in plugins of the gateway. Their names,
// configurations, priorities and answers are those of the plugins of Kong, as far as
// Kong has them; what one does not support is refused when it is configured.
//
//	cors                   2000  which origins may call from a browser
//	key-auth               1250  identifies the caller by key
//	oidc                   1000  identifies the caller by token of an OpenID Connect issuer, or login
//	request-validator       999  whether a request is as the API defines
//	ip-restriction          990  from where
//	request-size-limiting   951  with how long a body
//	acl                     950  in which groups
//	rate-limiting           910  how often
//	request-transformer     801  what the service gets of it
//	deprecation              15  that an API goes away
//	prometheus               13  accepted: the gateway measures in any case
//	request-termination       2  an answer without a service
//
// # Identity of the caller
//
// Services trust X-Consumer-*, X-Credential-*, X-Userinfo and their like. So
// key-auth, oidc and acl remove whatever a client sends under such a name, in any
// spelling that some server takes for it, before the first of them sets its own.
// On a route with none of them nothing is removed: a service has to be secured as
// a whole before it trusts these fields.
package plugin

import "github.com/iotenablers/enablers/apimgmt/gateway"

// Options are what the plugins of one gateway have in common with those of others that serve
// the same configuration. The zero value shares nothing.
type Options struct {
	// Counts are the counts of rate-limiting. Nil means that each gateway counts for itself, and
	// that there is no policy cluster.
	Counts *Counts
	// Secret seals the session cookies of oidc plugins whose configuration has no secret that
	// is long enough: with the same one, 32 bytes at random, a person who has signed in at one
	// gateway is signed in at all of them, and after a restart. It is called for each plugin
	// that is made. Nil, and an empty secret, mean one of this process.
	Secret func() string
	// ClientSecrets are the secrets that configurations of oidc may refer to.
	ClientSecrets []ClientSecret
}

// Kinds returns all built-in kinds. The slice is the caller's.
func Kinds() []gateway.Kind { return SharedKinds(Options{}) }

// SharedKinds is [Kinds] for a gateway that is one of several.
func SharedKinds(options Options) []gateway.Kind {
	return []gateway.Kind{
		CORS(), KeyAuth(), oidcWith(options), RequestValidator(), IPRestriction(), RequestSizeLimiting(), ACL(),
		rateLimitingWith(options.Counts),
		RequestTransformer(), Deprecation(), Prometheus(), RequestTermination(),
	}
}
