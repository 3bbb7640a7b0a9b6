// Package oidc tries clients of other people on the identity provider for
// development, and on a real Keycloak: gocloak, which is made for Keycloak,
// coreos/go-oidc and x/oauth2. It is a module of its own, so that the project
// depends on none of them.
package oidc
