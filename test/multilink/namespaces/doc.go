// Package namespaces tries multilink as its users have it: two processes of
// cmd/multilink on two hosts, each a network namespace, with three links
// between them that are cut and restored while something talks across.
//
// It takes root on Linux, and skips with a message elsewhere; in the gate it
// fails instead.
package namespaces
