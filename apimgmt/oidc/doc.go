// Package oidc checks the tokens of an OpenID Connect provider, such as
// Keycloak, and logs users in there.
//
// A [Verifier] is what a server needs that is called with bearer tokens:
// [Verifier.Verify] checks a signed token against the keys of its issuer, without
// a request once the keys are known, and [Verifier.Introspect] queries the
// issuer whether a token is still good (RFC 7662). Both return [Claims]. A
// [Client] is what a web application needs with logins: the
// authorization code flow with PKCE (RFC 6749, RFC 7636), refreshing, and logging
// out.
//
// # What is checked
//
// A token is a signed JWT in compact form (RFC 7515, RFC 7519), up to 16 KiB.
// Its algorithm must be one that is asymmetric and belongs to the type of the
// key: an RSA key of 2,048 bits or more verifies RS256 to RS512 and PS256 to
// PS512, a P-256 key ES256, and so on, an Ed25519 key EdDSA. So neither "none"
// nor an HMAC made with a public key ever passes. Keys named in the token itself
// (jwk, jku, x5c, x5u) are ignored. Then the issuer must be the expected one, the
// token neither expired nor used before its time, with some [Config.Skew], and
// meant for the [Config.Audience] and given to one of the
// [Config.AuthorizedParties], where these are set. Tokens that say they are
// something else than an access token (Keycloak's typ "ID", "Refresh" or
// "Logout", RFC 8725 section 3.11) are refused.
//
// # Addresses
//
// What a token says is its issuer need not be an address that this process
// can use: behind a proxy the public one differs from the one inside. So
// [Config.Issuer] is what tokens say, and [Config.Discovery] is where the
// discovery document is fetched. Endpoints that the document names by their
// public address are replaced with [Config.Endpoints].
//
// # Requests to addresses of others
//
// A discovery document names further addresses, and in a gateway its own
// address may come from an uploaded definition. So every address
// must be https, or http on the loopback interface, unless
// [Config.AllowHTTP] is set; its host must be one of [Config.Hosts], where that
// is set, which is advised where addresses come from others; no redirect is
// followed; answers are read up to a limit and never shown in errors. A host
// name may resolve to any address: where that matters give [Config.HTTPClient] a
// transport that looks at the address it dials.
//
// # When the issuer is down
//
// Keys are fetched when they are needed first, again when they have expired, and
// when a token names one that is not known, but for that no more often than
// [Config.KeysRetry] allows, so no caller can make the verifier overload the issuer. Requests
// share one fetch. Known keys go on to be used for an hour after they
// expired while the issuer cannot be reached. When keys change, every verified
// token that was cached is dropped.
//
// # Errors
//
// Every reason to refuse a token has a sentinel of its own. [ErrUnreachable] is
// one that says nothing about the token, and a [*Refusal] by Introspect another:
// then the issuer does not accept the client's credentials. A server answers these with 503, and all
// else with 401.
package oidc
