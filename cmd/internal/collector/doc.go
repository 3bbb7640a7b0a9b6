// Package collector puts the collector of federated learning together for the
// commands: jobs and an FL repository over one folder, a handler with the
// interfaces of both, and a listener for Flower clients.
//
// # Paths
//
// The interface of the collector is at the root. Where the repository is inside,
// the paths of its interface are beside those of the collector, so that one
// address is both; what both have (documentation, OpenAPI document, health) is
// the collector's there. The whole repository is below /repository/ besides.
package collector
