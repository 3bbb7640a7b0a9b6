// Package namespaces tries multilink as its users have it: two processes of
// cmd/multilink on two hosts, each a network namespace, with three links
// between them that are cut and restored while packets cross them.
//
// It takes root on Linux, a few minutes, and a machine that does little else, for
// it counts single packets in milliseconds. So it runs only on demand,
// as the gate does:
//
//	ENABLERS_REQUIRE_PEERS=1 go test ./test/multilink/namespaces
package namespaces
