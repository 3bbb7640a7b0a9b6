// Package flower runs the training collector, as a user builds it, with real
// Flower clients: Python programs with the oldest release that deployments have,
// and the newest there is. Its tests are all there is.
//
// The final weights of every strategy are compared with those that Flower's own
// server comes to with the same clients. Other tests kill clients, the collector
// and its neighbours in mid-training.
//
// With -short a quick selection runs: what the newest release alone can show, with clients of
// start_client and with SuperNodes. It needs one Python environment. Where the peers are required,
// a run of all tests, or of the quick selection, fails if it has started none of either.
//
// Python and the packages come from internal/peertest, which skips a test where
// they are missing, unless ENABLERS_REQUIRE_PEERS is 1.
package flower
