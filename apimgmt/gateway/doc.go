// Package gateway is an API gateway inside the process: a [Gateway] is an
// http.Handler that serves an [entity.Config] as Kong would.
//
// # Configuration
//
// [Gateway.Apply] compiles a whole configuration and puts it in place of the one
// served, in one step and under load: requests in flight finish with what they
// began with, and what is wrong changes nothing. What stays the same is carried
// over with its state: connections, the health of targets, and plugins with their
// counters. [Gateway.Replace] and [Gateway.Update] lose no change of another
// else's.
//
// # Requests
//
// A request is routed (see the rules in the documentation of Kong's
// traditional_compatible router), passes the plugins of its route, and is
// forwarded to the route's service, whose host may be an upstream with several
// targets. Paths are normalised before they are routed, and what is forwarded is
// the normalised path, so that no way of writing a path leads around the
// plugins of a route. A request that a service may read as one for a route with
// other plugins is answered with 400: one with an encoded slash, a backslash, a
// parameter of a segment, another escaping inside of its escapes, or a method in a
// field such as X-HTTP-Method-Override, if that makes the difference; and one whose
// path would climb by "..", read in such a way, in any case. Nothing but WebSockets
// switches protocols, and what has passed here eight times goes in a circle and is
// answered with 508. Bodies are streamed in both directions at once. An answer that breaks off
// is passed on as far as it came. A server over net/http has removed Content-Length from a
// request with Transfer-Encoding before the gateway sees it: ending the connection after it
// (RFC 9112, section 6.1) is the server's.
//
// # Plugins
//
// A [Kind] compiles plugins. A [Plugin] is a value of up to five functions, one for
// each phase. Package plugin has the built-in kinds, package plugintest
// the suite that each must pass.
//
// # Safety
//
// The gateway connects to public addresses only, unless [Options.AllowUpstreams]
// has the address; that is checked on the address that is dialled, so that names
// cannot be pointed elsewhere in between. No log line has a header field, a query
// or a body in it.
package gateway
