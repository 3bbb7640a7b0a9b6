// Package dp trains models with differential privacy: it bounds what the model
// reveals about any one client, and accounts for it.
//
// [New] wraps a strategy of package strategy in adaptive clipping (Andrew and
// others 2021, arXiv 1905.03871), as clients with Flower's DPFedAvgNumPyClient
// implement it: the update of every client is clipped to a norm that follows a
// quantile of the clients' norms, the updates are averaged without weights, and
// Gaussian noise hides the contribution of each. An [Accountant] turns the
// rounds into an epsilon; it may be used alone.
//
// # Where the noise is added
//
// Once. With server-side noise the server adds a Gaussian of standard deviation
// z'·C to the sum of K updates, so z'·C/K to their mean, where C is the clip norm
// and z' the effective multiplier. One client changes the sum by C at most, so
// the multiplier is z' for any K. Flower 1.3.0 adds z'·C/√n to each update
// instead, n being num_sampled_clients, which comes to the same for K = n, needs
// K times the random numbers, and is less private than stated for K < n.
//
// With a sampling_rate below 1 the number of clients of a round is as secret as their
// updates. So the sum of their differences from the model is divided by
// num_sampled_clients, which is to be the number expected, the share within the clip norm is
// measured by the sum of bits less one half, and a round whose draw is empty releases noise.
//
// With client-side noise each client adds z'·C/√n, and the server none. The sum
// of n such updates has noise of z'·C; fewer updates than n are not aggregated.
// Flower 1.3.0 adds the server's noise then as well.
//
// The count of clients within the clip norm steers the norm, and is released as
// well, with noise of standard deviation clip_count_stddev (σ). Both releases
// together have the configured multiplier z: z⁻² = z'⁻² + (2σ)⁻². From it follows
// z' = z/√(1−(z/2σ)²), which exists for z below 2σ only.
//
// # What the inner strategy gets
//
// The inner strategy gets one update a round, the private mean, unless it sums
// updates that cannot be read. It gets no loss of the model, because losses measured
// by clients are not private. Its computation loses no further privacy, so server
// optimizers such as FedAdam are as private as FedAvg. Rules that compare clients
// have nothing to compare; [Check] and [New] return an error for them.
//
// # Clients are not trusted
//
// The server clips an update beyond the clip norm as an honest client would, and
// counts it as beyond the norm. It is not refused: one failure makes a round not
// count, so a client could stop the training. The noise allows for norms up to
// C(1+2⁻¹⁰), since a client's own clipping is rounded to 32 bits. With
// client-side noise the bound is a norm that noise of that size exceeds in less
// than one of 10¹⁰ updates. The server cannot verify that clients add their
// noise; privacy then depends on the clients.
//
// # Updates that cannot be read
//
// If the inner strategy begins a [Blurrer], as that of package ckks does for
// encrypted updates, it gets the updates of all clients, each with the weight 1, and
// the noise is added to its sum, rounded as the Blurrer defines. The server can
// neither measure nor clip such an update: the clipping, and epsilon with it, depend
// on every client; a single client that does not clip can determine the mean.
// Verdicts have no norm and no bound. In return the server, which has no key, cannot
// read the updates.
//
// # What epsilon covers
//
// The models of all rounds and the clip norms, towards all recipients; neighbouring data sets
// differ by one client, and the number of clients is public. It does not cover what clients report
// beside their update, such as losses, the number of examples and the exact mean of
// dpfedavg_norm_bit, nor the model that the first round begins with, nor does it hold towards a
// server that sees updates. Sampling does not count unless sampling_rate is below 1; then it
// does not cover how many clients a round had, and which.
//
// A model is accounted for when the round finishes, and the account is in the
// strategy's state. Models that clients received before a crash and that the
// state does not include are accounted for with [Adaptive.Charge].
//
// # Noise
//
// A round's noise is the stream of a ChaCha8 generator under a key of 256 bits
// from the operating system, made Gaussian by the polar method. Noised values
// are rounded to a grid 2⁻²⁰ of the deviation, which depends on no client's numbers,
// so that the lowest bits of floating point give nothing away (Mironov 2012,
// "On significance of the least significant bits for differential privacy").
package dp
