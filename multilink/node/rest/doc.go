// Package rest is the REST interface of an instance of a multi-link network: [NewHandler] serves
// a [node.Node] over HTTP, with its events as a stream, its metrics and its OpenAPI document.
package rest
