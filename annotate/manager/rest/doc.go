// Package rest is the REST interface of the channels of a service: [NewHandler] serves a
// [manager.Manager] over HTTP, with its OpenAPI document, an interactive page and its metrics.
package rest
