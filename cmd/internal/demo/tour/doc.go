// Package tour keeps the blocks of cmd/enablers busy, so that one can watch them: it uploads
// versions of a model, publishes an API and calls it through the gateway, and cuts a link. What
// it creates is bounded, and begins with "demo" so that a person can tell it apart.
package tour
