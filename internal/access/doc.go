// Package access is the one door of all servers: it decides who sends a request, and
// what that caller may do.
//
// A caller proves its identity in one of these ways, of which a [Door] accepts those it is
// configured for:
//
//   - a token of a [TokenFile], as a bearer token (RFC 6750 section 2.1);
//   - a token that a [Verifier] accepts, such as one of an OpenID Connect issuer;
//   - a client certificate that the TLS listener has verified (RFC 8446 section 4.4.2);
//   - the cookie of a browser in which a person has signed in with one of these tokens.
//
// Every identity has a role, and every route requires one; see [httpapi.Role].
//
// Failed attempts are counted by address. After ten of them in a row an address may try one
// more each second, and gets status 429 before that. Credentials that the address has used
// with success lately are accepted all the same, so that one faulty program behind a
// shared address does not lock out the others.
package access
