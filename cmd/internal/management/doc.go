// Package management composes API management for the commands: publisher, portal,
// gateway with its admin API, and an identity provider for development,
// over one folder.
//
// # Listeners
//
// The portal's has the pages at the root, the publisher's interface below
// /OpenAPIDocumentation/ with its documentation at /docs/, and the identity
// provider below /auth/. The gateway and its admin API have one each.
//
// # Secrets
//
// The first start generates the secrets that are not given into the file credentials.json
// of the folder, which only its owner can read: the password of the demonstration's
// users, the secret of the confidential clients, and the token of the admin API.
package management
