// Package netlab creates a network to try radio links on: two hosts and the air
// between them, each a network namespace, joined by as many links as wanted.
// A link can be cut without its ends noticing, in both directions or in one,
// or lose its carrier at either end.
//
// It takes root on Linux; [New] answers errors.ErrUnsupported elsewhere. What
// it creates vanishes with the process, however that ends: the namespaces have no
// names, and live as long as a process holds them.
package netlab
