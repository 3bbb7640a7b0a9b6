// Package rest is the REST interface of a publisher: [NewHandler] serves an
// [apimgmt.Publisher] over HTTP, to callers with tokens of an OpenID Connect issuer.
package rest
