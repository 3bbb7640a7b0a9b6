// Package entity has the nouns of an API gateway as Kong defines them: services,
// routes, plugins, consumers, upstreams and targets, and a [Config] of all of them.
//
// The names of the JSON fields, the defaults and the rules are those of Kong's Admin
// API 3.x, so that its clients and declarative files can be used. Values have
// every default filled in once [Config.Normalize] has passed them. Paths of routes
// are in the style of Kong 3: a path that starts with "~" is a regular expression,
// any other one a prefix.
//
// The package does no input or output. What converts API definitions writes a
// Config; the gateway serves one; a driver of a real Kong sends one.
package entity
