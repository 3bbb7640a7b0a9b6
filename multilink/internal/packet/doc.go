// Package packet is the wire format of a bond: the header of every packet, the
// probe, the pieces of a long frame, and the pooled buffers that carry them.
//
// The format is versioned by the header. Two ends of different releases talk to
// each other, so that a change of the bytes needs a new version.
package packet
