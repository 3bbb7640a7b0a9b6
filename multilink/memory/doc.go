// Package memory is a network in memory: links that lose, delay, reorder and
// duplicate packets as configured, and hosts that are attached to all of them.
// [Host] is a multilink.Host, so that a multilink.Bond runs over it without a right
// to touch a network: in tests and demonstrations. [NewPipe] connects two ends of a
// multilink.FramePort.
package memory
