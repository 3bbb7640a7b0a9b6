// Package tiers groups the clients of a job by how long their fits take, so that a round
// can draw its clients from one group, and does not wait for the slowest of all (TiFL,
// Chai and others 2020, arXiv 2001.09249).
//
// The tier of a round is drawn with a probability proportional to the number of its
// clients, and the clients within it uniformly. Then the chance of each client is that of
// uniform sampling, whatever its speed. It is another one only where a tier has too
// few clients, and the round is filled up from the next tier; [Draw] says by how much.
package tiers
