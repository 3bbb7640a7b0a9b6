// Package flcollect is the server side of federated learning: it conducts rounds of
// training with Flower clients, aggregates their updates, and stores the result in a
// repository.
//
// A [Server] runs any number of jobs. Each job has a configuration, waits for its
// clients, trains for a number of rounds, and ends with a result. Package storage keeps
// all of it, so that a job goes on after a restart from the last finished round.
//
// # Clients that are not trusted
//
// By default no client is trusted. Norm bounding is around every strategy that reads
// updates and gives no verdicts on them itself: an update further from the model than
// [DefaultNormFactor] medians of the round, and of the round before, is far. By default a
// far update is reported and kept, so that the weights are those of Flower's own server.
// [Config].Clip, or norm_bound, norm_factor or norm_refuse_factor in the strategy_conf of
// a job, have far updates shortened to the bound; norm_clip, true or false, decides it
// explicitly. Layers of whole numbers, such as the counters of batch normalisation, enter
// no norm: they have a bound of their own, which strategy.NewBounded describes.
//
// Each client has a [Reputation] for the run of a job. A client whose updates are
// refused, or cut far beyond the bound, again and again is suspended: it is drawn only
// where there are too few others. An update that is only reported as far costs nothing,
// and neither does the type of its numbers. How much a reputation is worth depends on how
// clients are identified: see [ClientReport].
//
// [Updates] counts what was cut, refused or converted: in the [Status] and the [Result]
// of all rounds, and in a [Round], on its page and in its line of the log of that one.
//
// [Server.Report] returns what became of every update of a round, and [Server.Audit]
// yields a log of all attempts that [VerifyAudit] checks. Both are meant for the operator
// of the server: no privacy mechanism covers them.
//
// # Types of numbers
//
// The model with which a job begins decides the types of its layers for all rounds,
// whether it comes from [Config].Initial, from the repository or from the first client
// that has one. An update with layers of other types is converted before it is used in
// any other way: rounded to the nearest number, to even in the middle, also where a layer
// holds whole numbers. Flower's own server takes what NumPy makes of the mix, so that one
// client with 64 bits causes all others to get 64 bits. A number that the type of the
// model cannot hold, such as 1e300 in float32 or 300 in int8, has the update refused. With
// differential privacy, layers of 64 bits are left as they are where package dp takes
// them.
//
// # Trainings without a result
//
// A round that aggregates no update says so in its note, and the status counts it. A job
// in which no round has aggregated an update ends as [Interrupted] with the reason, and
// has no result: the model is still the initial one.
//
// # Privacy
//
// A configuration may name mechanisms. With dp-adaptive, package dp clips the updates
// and adds noise: [Status], [Round] and [Result] show the privacy loss, a budget ends the
// training before it is exceeded, and a crash loses no part of the account. With
// homomorphic, clients encrypt their updates and package ckks averages them without a
// key: the strategy is FedAvg, the initial model comes from a client, and the result is
// what clients can decrypt. Loss and metrics are in clear. [Server.SetPublicContext]
// stores the public context that clients load. The two may be combined. With secagg,
// SuperNodes mask their updates and package secagg computes the mean, which the strategy
// gets as one update; clients may drop out in the middle of a round.
//
// # Several servers
//
// Servers with the same [Config].Documents and Blobs, and a Name of their own, are one
// service: each job is conducted by one of them, whose lease is renewed in the store. When
// it ends, another goes on with the job. Each server relays its Flower clients to the server
// of their job.
//
// # Collectors of collectors
//
// A server with [Config].Upstream has jobs that are clients of those of another server. It
// sends the exact sums of what its own clients send, so the model of the server at the top
// has the bits of one server with all the clients.
//
// # Parts
//
// The parts can be used alone: package flower speaks the protocol of the clients,
// strategy aggregates, tensor holds the numbers, repository stores results.
package flcollect
