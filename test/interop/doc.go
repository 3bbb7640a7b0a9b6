// Package interop runs the project against real peers: brokers as a
// distribution ships them, and our own commands as a user builds them.
//
// The tests are ordinary tests. Brokers come from annotate/mqtt/mqtttest, which
// skips a test where the broker is not installed, unless the environment says
// ENABLERS_REQUIRE_PEERS=1, as .ci/run does: then a missing broker is a
// failure. [Build] and [StartServer] make and start our commands.
//
// Every process listens on a free port of the loopback interface, keeps its
// files in a temporary folder of the test, and is ended with the test.
package interop
