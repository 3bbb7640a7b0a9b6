// Package strategy aggregates the model updates of clients into a new model,
// and defines how clients are sampled and how failures count.
//
// New makes a built-in strategy by its name, with the parameters and defaults
// of Flower 1.3.0. For another strategy, implement Strategy. The built-in
// strategies use only what is exported here: Sum for weighted means, Spill for
// rules that look at all updates at once. Package strategytest holds the suite
// that both pass.
//
// # What holds for the aggregation of a round
//
// The result does not depend on the order in which updates arrive, to the last
// bit. Memory does not grow with the number of clients: an update is taken in
// while Add runs and is not referred to afterwards; rules that need all of them
// put them into a file and read it in tiles. A bad update, with a number that
// is not finite, another shape, or an invalid weight, is quarantined: Add
// returns the reason, and the result is as if that client had failed.
//
// # Clients that are not trusted
//
// NewBounded adds a bound to any strategy: an update that is too far from the model
// is clipped, refused, or only reported. Integer layers are not part of its norm.
// It reports a Verdict on every update. Rules such as FedMedian and Krum resist
// attacks that a bound does not stop.
//
// # Exact sums
//
// Sum adds terms as integers in a unit of each block of 512 elements, which is
// exact; bits that do not fit go to further layers of that block. A term is the
// product of weight and number rounded to 64 bits, terms below 2^-147 count as
// zero, and the sum is rounded once, when it is read. It takes 8 bytes an
// element for updates of 32-bit numbers, up to 40 for 64-bit numbers, and at
// most 88, whatever the clients send. Round.NewSum makes one in the memory of the
// round before, which Sum.Release hands on.
//
// # Integers
//
// Integer layers, such as the counters of batch normalization, are aggregated like
// the others and rounded to the nearest integer of their type, half to even. Flower
// 1.3.0 converts them to 64-bit floats, later versions truncate them. Krum, Bulyan
// and QFedAvg compare updates over all layers, as those of Flower do.
package strategy
