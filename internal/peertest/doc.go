// Package peertest builds the programs that tests run as peers: servers that
// are written in Go and built from a module of their own below the folder test,
// so that none of their code is linked into the project, Python interpreters
// with the packages that tests name, and class paths of Java with libraries. It
// starts programs as well, in a test or outside of one.
package peertest
