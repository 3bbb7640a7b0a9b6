// Package portal is the web interface of API management: users sign in at an identity
// provider, look through the library of APIs, read and try them, and developers publish
// here.
//
// # Signing in
//
// A program that signs people in itself says with [Config.SignedIn] who they are, and the
// portal keeps nothing of its own. Otherwise the portal is a client of the provider with
// the authorization code flow and PKCE ([oidc.Client]). Codes are exchanged and tokens
// kept on the server; the browser gets a cookie that is a random number and that pages
// cannot read. What a login needs until its answer comes is sealed in a cookie of its own.
// A return path is one of the portal, or it is ignored. Sessions are in memory, bounded in
// number and in time: after a restart users sign in again, which the provider's own
// session mostly does for them. Tokens are refreshed before they expire, and with them the
// roles.
//
// # What may be done
//
// The roles of the access token decide, at every request: a developer publishes, changes
// and deletes; an open caller reads; any other user gets a page about the missing role.
// Every change needs the form token of the portal's own session, if that is what signs
// people in, and comes from a page of the portal's own origin
// ([net/http.CrossOriginProtection]) or of one of [Config.Hosts].
//
// # Trying APIs
//
// The interactive documentation is Swagger UI, from the program itself. Definitions are
// shown with the gateway for their only server. The page asks for the access token when a
// request is about to be sent, and sends it to the gateway and to no other origin: the
// page's content security policy allows its own origin and the gateway's. [AllowPortal]
// has a gateway answer pages of the portal.
//
// # Pages
//
// Addresses in pages are relative, so that the handler may be mounted anywhere. Pages are
// rendered here and work without scripts, but for the interactive documentation. Their
// policy allows neither inline scripts nor inline styles. What users have written is
// escaped; Markdown is rendered without HTML and sanitised.
package portal
