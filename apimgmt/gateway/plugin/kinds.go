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

// Kinds returns all built-in kinds. The slice is the caller's.
func Kinds() []gateway.Kind {
	return []gateway.Kind{
		CORS(), KeyAuth(), OIDC(), RequestValidator(), IPRestriction(), RequestSizeLimiting(), ACL(), RateLimiting(),
		RequestTransformer(), Deprecation(), Prometheus(), RequestTermination(),
	}
}
