// Package namespaces tries multilink as its users have it: two processes of
// cmd/multilink on two hosts, each a network namespace, with three links
// between them that are cut and restored while packets cross them.
//
// It takes root on Linux and two minutes, with -short one. So it runs only on demand,
// as the gate does:
//
//	ENABLERS_REQUIRE_PEERS=1 go test ./test/multilink/namespaces
//
// What is required here holds on a machine that is busy with other things as well: that nothing is lost, nothing comes
// twice, and frames cross again while a link is still cut. How many milliseconds that takes is for bench/multilink.
package namespaces
