// Package plugin has the built-in plugins of the gateway. Their names,
// configurations, priorities and answers are those of the plugins of Kong.
package plugin

import "github.com/iotenablers/enablers/apimgmt/gateway"

// Kinds returns all built-in kinds. The slice is the caller's.
func Kinds() []gateway.Kind {
	return []gateway.Kind{
		CORS(), KeyAuth(), OIDC(), RequestValidator(), IPRestriction(), RequestSizeLimiting(), ACL(), RateLimiting(), Deprecation(), Prometheus(), RequestTermination(),
	}
}
