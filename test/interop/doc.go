// Package interop runs the project against real peers: brokers as a
// distribution ships them, and our own commands as a user builds them.
//
// The tests are ordinary tests. Brokers come from annotate/mqtt/mqtttest and
// annotate/kafka/kafkatest, which skip a test where the broker is not installed,
// unless ENABLERS_REQUIRE_PEERS is 1, as .ci/run does: then a
// missing broker is a failure. [Build] and [StartServer] make and start our
// commands.
//
// Five tests end in ThroughAllFaults. Each sends 100,000 messages through one
// combination of brokers, lets one fault after another happen meanwhile, and
// logs what came of it (go test -v). Together they take minutes; with -short
// there are fewer messages.
//
// Every process listens on a free port of the loopback interface, keeps its
// files in a temporary folder of the test, and is ended with the test.
package interop
