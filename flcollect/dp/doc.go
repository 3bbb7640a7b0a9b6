// Package dp trains models with differential privacy: what the model gives away
// about any one client is bounded, and the bound is kept account of.
//
// [New] wraps a strategy of package strategy in adaptive clipping (Andrew and
// others 2021, arXiv 1905.03871), as the clients of Flower's DPFedAvgNumPyClient
// understand it: the update of every client is cut to a norm that follows a
// quantile of the clients' norms, the updates are averaged without weights, and
// Gaussian noise hides what one of them adds. An [Accountant] turns the rounds
// into an epsilon; it may be used alone.
//
// # Where the noise is added
//
// Once. With server-side noise the server adds a Gaussian of standard deviation
// z'·C to the sum of K updates, so z'·C/K to their mean, where C is the clip norm
// and z' the effective multiplier. One client changes the sum by C at most, so
// the multiplier is z' for any K. Flower 1.3.0 adds z'·C/√n to each update
// instead, n being num_sampled_clients, which comes to the same for K = n, costs
// K times the random numbers, and hides less than it says for K < n.
//
// With client-side noise each client adds z'·C/√n, and the server none. The sum
// of n such updates has noise of z'·C; fewer updates than n are not aggregated.
// Flower 1.3.0 adds the server's noise then as well.
//
// The count of clients within the clip norm steers the norm, and is released as
// well, with noise of standard deviation clip_count_stddev (σ). Both releases
// together have the multiplier z that was asked for: z⁻² = z'⁻² + (2σ)⁻². From it
// follows z' = z/√(1−(z/2σ)²), which exists for z below 2σ only.
//
// # What the strategy inside sees
//
// One update a round, the private mean, unless it sums updates that cannot be
// read; and no loss of the model, for what clients have measured is not private.
// Whatever it makes of that is no further loss of privacy, so server optimisers such
// as FedAdam are as private as FedAvg. Rules that compare clients have nothing to
// compare; [Check] and [New] refuse them.
//
// # Clients are not trusted
//
// An update beyond the clip norm is cut by the server, in the way of an honest
// client, and counts as beyond it. It is not refused: one failure makes a round
// not count, so a refusal would reward a client that wants to stop the training.
// The noise allows for norms up to C(1+2⁻¹⁰), since a client's own clipping is
// rounded to 32 bits. With client-side noise the bound is what noise of that size
// exceeds in less than one of 10¹⁰ updates; that the clients do add their noise
// cannot be seen, and privacy then rests on their word.
//
// # Updates that cannot be read
//
// Where the strategy inside begins a [Blurrer], as that of package ckks does for
// encrypted updates, it is given the updates of all clients, each with the weight
// 1, and the noise is added to its sum, rounded as the Blurrer says. The server can
// neither measure nor cut such an update: the clipping, and epsilon with it, rest on
// the word of every client, of whom a single one that does not clip decides the
// mean. Verdicts have no norm and no bound. In return the server, which has no
// key, sees no updates.
//
// # What epsilon covers
//
// The models of all rounds and the clip norms, towards everybody who sees them;
// the neighbouring relation is one client more or less, where it is no secret how many
// there are. It does not cover what clients report beside their update, such as losses,
// the number of examples and the exact mean of dpfedavg_norm_bit, nor the model that
// the first round begins with, nor does it hold towards a server that sees updates. Sampling is taken to hide nothing unless
// sampling_rate says otherwise.
//
// A model is accounted for when the round finishes, and the account is in the
// strategy's state. What clients were sent before a crash, and the state does not
// know of, is accounted for with [Adaptive.Charge].
//
// # Noise
//
// A round's noise is the stream of a ChaCha8 generator under a key of 256 bits
// from the operating system, made Gaussian by the polar method. Noised values
// are rounded to a grid 2⁻²⁰ of the deviation, which depends on no client's numbers,
// so that the lowest bits of floating point give nothing away (Mironov 2012,
// "On significance of the least significant bits for differential privacy").
package dp
