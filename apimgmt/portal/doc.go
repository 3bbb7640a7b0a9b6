// Package portal is the web interface of API management: users sign in at an identity
// provider, read and try the APIs of the library, and developers publish.
//
// # Signing in
//
// The program signs people in and keeps their sessions: [Config.SignedIn] returns the access
// token of the person whose browser sends a request, [Config.SignIn] and [Config.SignOut] are
// the paths at which sessions begin and end. The portal sets no cookie.
//
// # Roles
//
// The roles of the access token decide, at every request: a developer publishes, changes
// and deletes; an open caller reads; any other user gets a page about the missing role.
// Every change must come from a page of the portal's own origin
// ([net/http.CrossOriginProtection]) or of one of [Config.Hosts].
//
// # Trying APIs
//
// The interactive documentation is Swagger UI, embedded in the program. Definitions are
// shown with the gateway as their only server. The page requests the access token before it
// sends a request, and sends it to the gateway alone: the content security policy of the
// page allows its own origin and the gateway's. [AllowPortal] has a gateway answer requests
// of the portal's pages.
//
// # Pages
//
// Addresses in pages are relative, so that the handler may be mounted at any path. Pages are
// rendered on the server and, except for the interactive documentation, work without scripts.
// Their policy allows neither inline scripts nor inline styles. User text is escaped;
// Markdown is rendered without HTML and sanitised.
package portal
