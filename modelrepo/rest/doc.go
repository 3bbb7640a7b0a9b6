// Package rest is the REST interface of a repository: [NewHandler] serves a
// [modelrepo.Store] over HTTP, by version 0.1 of the interface, with resumable uploads
// by the protocol tus 1.0.0 and the routes of version 1 for webhooks.
//
// The protocol tus is implemented here and in internal/tus. The handler of tusd (tried
// with v2.10.0) has neither checksum nor expiration, answers errors in another form
// than the interface, and its module requires 110 others.
package rest
