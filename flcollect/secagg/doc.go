// Package secagg computes the mean of updates that the server cannot read one
// by one: the protocol SecAgg+ (Bell and others 2020, after Bonawitz and others
// 2017), with the messages and the arithmetic of Flower's SecAggPlusWorkflow, so
// the clients are Flower's, with secaggplus_mod. It is for models that are too
// large for the ciphertexts of package ckks.
//
// A [Round] runs one round over an [Exchange], which sends named values to
// clients and returns theirs. A [Client] answers as Flower's mod does.
//
// # The stages
//
// In [StageSetup] each client sends two public keys. In [StageShare] it gets
// those of its neighbours on a random ring, draws the seed of its own mask, and
// divides the seed and the private key of its pair masks among the neighbours
// (Shamir 1979), encrypted for each. In [StageCollect] it gets the shares of the
// others, trains, and sends its weight and its weighted update as integers, plus its
// own mask, plus or minus one mask for each neighbour, modulo a power of 2. The
// pair masks cancel in the sum. In [StageUnmask] the neighbours send shares: of
// the seed of every client whose vector was added, and of the key of every client
// that dropped out after its shares were forwarded. With these the server
// removes the masks that are left in the sum.
//
// # Dropouts
//
// A client may drop out in every stage. One that leaves before its shares are
// forwarded has no part in the masks. Clients with fewer neighbours than the
// threshold are left out while this is possible. If a mask of the sum cannot be removed
// the round fails with [ErrTooFew]. Flower's own workflow fails whenever a client drops
// out before it has sent its shares, as it then asks the others for shares that they
// do not have.
//
// # Precision
//
// Each number of an update, times the client's weight divided by
// [Config.MaxWeight], is clipped to [Config.ClippingRange] and rounded at random to one
// of [Config.QuantizationRange] steps. [Result.Step] bounds the error that this
// leaves in the mean. Clients clip integers too, such as the counters of
// BatchNorm layers.
//
// # What is hidden, and from whom
//
// A server that keeps to the protocol handles sums only. This is no proof against
// a server that computes on what it receives, because Flower's clients reduce the seed of each mask
// to 32 bits, of which those of pair masks vary in 28: with three shares a
// single update can be found by trying seeds, on an ordinary computer. Every
// share more multiplies that work, so prefer many shares. A server
// that gives other public keys to clients as their neighbours' is not
// detected either: keys are not signed. Threshold clients that work together with
// the server reveal a neighbour's update. Flower's clients report their number
// of examples beside the masked vector. Where the server is not trusted, use
// package ckks.
//
// # Wrong answers
//
// A client whose answer is malformed counts as dropped out. The server compares the
// shares that exceed the threshold with the others: with two of them it finds a single wrong one. A
// restored key must belong to its public key. A sum that honest clients cannot
// have is an error that matches [ErrProtocol], so a mask that was not removed does not
// become a model. The server cannot bound a single update, since it
// cannot read it; the clipping range bounds it at honest clients only.
package secagg
