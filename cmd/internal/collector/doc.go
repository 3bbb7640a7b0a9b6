// Package collector composes the collector of federated learning for the commands: jobs and an FL
// repository over one store, a handler with the
// interfaces of both, and a listener for Flower clients.
//
// # Paths
//
// The interface of the collector is at the root. Without another repository,
// the paths of its interface are beside those of the collector, so that one
// address is both; what both have (documentation, OpenAPI document, health) is
// the collector's there. The complete interface of the repository is also below /repository/.
package collector
