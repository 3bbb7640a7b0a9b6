// Package mongotest starts a MongoDB server for tests, on a free port of
// loopback, with a folder of its own: FerretDB in one process, built with the
// go command from the module test/ferretdb. It can be killed and started again
// on the same data.
//
// Building it the first time takes a minute and the network, so that happens
// only when ENABLERS_REQUIRE_PEERS is 1. Later runs find the program in the user's
// cache folder. Without the program a test is skipped.
//
// When [URIVariable] is set, tests use the server that it names instead, each
// test its own databases there, which are dropped at its end. Tests of several
// packages may do so at once. Those that kill the server, or depend on what
// else is stored there, start one with [StartProcess] all the same.
package mongotest
