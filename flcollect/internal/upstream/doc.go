// Package upstream is what a collector that is a client of another one, an edge, says to
// it beyond Flower's protocol: that it is an edge, and for which job ([Announce],
// [AnnouncedJob]); that the other one takes sums ([Mark], [Marked]); and the [Summary] of its
// clients with every answer.
package upstream
