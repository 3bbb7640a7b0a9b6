// Package strategy aggregates the model updates of clients into a new model,
// and says how clients are sampled and how failures count.
//
// New makes a built-in strategy by its name, with the parameters and defaults
// of Flower 1.3.0. Who needs another one implements Strategy; the built-in ones
// have no other means than those exported here: Sum for weighted means, Spill
// for rules that look at all updates at once. Package strategytest holds the
// suite that both pass.
//
// # What holds for the aggregation of a round
//
// The result does not depend on the order in which updates arrive, to the last
// bit. Memory does not grow with the number of clients: an update is taken in
// while Add runs and is not referred to afterwards; rules that need all of them
// put them into a file and read it in tiles. A bad update, with a number that
// is not finite, another shape, or an impossible weight, is refused with the
// reason and changes nothing, as if that client had failed.
//
// # Clients that are not trusted
//
// NewBounded puts a bound around any strategy: an update that lies too far from
// the model is shortened, refused, or only reported. Layers of whole numbers do not
// enter its norm. It reports a Verdict on every update. Rules
// such as FedMedian and Krum resist what a bound does not.
//
// # Exact sums
//
// Sum adds terms as whole numbers of a unit that each block of 512 elements
// has for itself, which is exact; bits that do not fit go to further layers of
// that block. A term is the product of weight and number rounded to 64 bits,
// terms below 2^-147 count as zero, and the sum is rounded once, when it is
// read. It takes 8 bytes an element for updates of 32-bit numbers, up to 40 for
// 64-bit numbers, and 88 at the most, whatever the clients send.
//
// # Whole numbers
//
// Layers of whole numbers, such as the counters of batch normalisation, are
// aggregated like the others and rounded to the nearest whole number of their
// type, to even in the middle. Flower 1.3.0 turns them into 64-bit floats, later
// versions cut them off. Krum, Bulyan and QFedAvg compare updates over all layers, as
// those of Flower do.
package strategy
