// Package door puts the access of a server together for the commands: the flags, the
// token that is generated where nothing is configured, the verifier of an OpenID Connect
// issuer's tokens, and TLS for the listeners.
//
// Without any setting a server that only its own machine can reach is open; one that
// other machines can reach generates a token at its first start.
package door
