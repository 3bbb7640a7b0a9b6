// Package management composes API management for the commands: publisher, portal,
// gateway with its admin API, and an identity provider for development,
// over one store.
//
// # Listeners
//
// The portal's has the pages at the root, the publisher's interface below
// /OpenAPIDocumentation/ with its documentation at /docs/, and the identity
// provider below /auth/. The gateway and its admin API have one each.
//
// # Signing in
//
// People sign in at the identity provider once, for all listeners of the door: the roles
// Developer, Open-Caller and admin of the provider are operator, reader and admin there. The
// door keeps the sessions, and the portal has none of its own.
//
// # Secrets
//
// The first start generates the secrets that are not given into the file credentials.json
// of the folder, which only its owner can read: the passwords of the demonstration's
// users and of its administrator, the secret of the confidential clients, and the token of the admin API.
package management
