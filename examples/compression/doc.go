// Package compression is an example of clients that compress their updates: Flower
// clients in Python, each with another kind, and a wrapper that does so for any
// NumPyClient. See the README beside it. The only code in Go is the test that runs it.
package compression
