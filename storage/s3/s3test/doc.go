// Package s3test starts an S3 server for tests: MinIO in one process, on a
// free port of loopback, with a folder of its own. It can be killed and
// started again on the same data.
//
// The program is built with the go command from the module test/minio. None of
// MinIO's code, whose licence is the AGPL, is linked into the project or its
// tests. Building it the first time takes some minutes and the network, so that
// happens only when ENABLERS_REQUIRE_PEERS is 1. Later runs find the program in
// the user's cache folder. Without it a test is skipped.
//
// When [AddressVariable] is set, tests use the server that it names instead, each
// test its own buckets there, which are removed at its end. Tests of several
// packages may do so at once. Those that kill the server, or depend on what
// else is stored there, start one with [StartMinIOProcess] all the same.
package s3test
