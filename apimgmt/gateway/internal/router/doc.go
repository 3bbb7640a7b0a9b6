// Package router finds the route of a request as Kong 3 does in its
// traditional_compatible flavour, in a time that does not depend on how many
// routes there are.
//
// # Rules
//
// A request matches a route if it matches every list of the route that is not
// empty: methods, hosts, paths, headers and, over TLS, server names. Of the routes
// that match, the one counts that
//
//  1. has more such lists,
//  2. has hosts without any wildcard,
//  3. has more headers,
//  4. has matched by a regular expression,
//  5. has the greater regex_priority, if so,
//  6. has matched by the longer prefix, if not,
//  7. is older, and then has the smaller id.
//
// A route whose paths differ in kind or length counts once for each of them.
//
// # How it is fast
//
// Routes are indexed by host, in maps over the whole name and over its ends at
// dots; below that by path: prefixes in a radix tree, expressions for one path
// only in a map, expressions made of segments (as converters of OpenAPI write
// them) in a tree of segments, all others in the radix tree under the text that
// they begin with. Every node has the best rank below it, so that a search
// turns back where nothing better can come. Where many routes have one path, they are
// found by the value of a header field. Only expressions that begin alike are tried
// one after the other.
package router
