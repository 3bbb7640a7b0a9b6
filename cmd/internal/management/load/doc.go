// Package publish puts load on API management as cmd/apimanager composes it: the
// portal's REST interface, the publisher, the entities of the embedded gateway and
// the gateway itself, over files on disk and real listeners. Its test is all there
// is.
//
// A thousand APIs are published, changed and deleted with tokens of the identity
// provider inside, while clients call APIs that stay. No call may fail, no
// connection may be lost, and what was published must leave nothing behind in
// memory. Since that takes longer than a unit test may, it runs when the
// environment says ENABLERS_REQUIRE_PEERS=1, as .ci/run does.
package publish
