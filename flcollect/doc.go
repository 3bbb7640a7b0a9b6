// Package flcollect is the server side of federated learning: it runs rounds of
// training with Flower clients, aggregates what they send, and hands the result
// to a repository.
//
// A [Server] runs any number of jobs. Each job has a configuration, waits for
// its clients, trains for a number of rounds, and ends with a result. All of it
// is kept in package storage, so that a job goes on after a restart from the last
// round that was finished.
//
// # Clients that are not trusted
//
// By default no client is. Norm bounding is around every strategy that reads
// updates and does not report what became of them itself: an update further from
// the model than [DefaultNormFactor] medians of the round, and of the round before,
// is far. By default that is reported and the update is kept, so that the weights
// are those of Flower's own server. [Options].Clip, or norm_bound, norm_factor or
// norm_refuse_factor in the strategy_conf of a job, have such updates shortened to
// the bound; norm_clip, true or false, says it in so many words. Layers of whole
// numbers, such as the counters of batch normalisation, enter no norm: they have a
// bound of their own, which [strategy.NewBounded] describes.
//
// Each client has a [Reputation] for the run of a job; one whose updates are refused,
// or cut far beyond the bound, again and again is suspended, which means that it is
// drawn only where there are too few others. An update that is only reported as far
// costs nothing, and neither does the type of its numbers. What a reputation is worth
// depends on how clients are told apart: see [ClientReport].
//
// [Updates] says what was cut, refused or converted: in the [Status] and the [Result]
// of all rounds, in a [Round] and on the page of that one, and in its line of the log.
//
// [Server.Report] says what became of every update of a round, and [Server.Audit]
// gives out a log of all attempts that [VerifyAudit] checks. Both are for who runs
// the server: no privacy mechanism covers them.
//
// # Types of numbers
//
// The model that a job begins with decides the types of its layers for all rounds,
// whether it comes from [Options].Initial, from the repository or from the first
// client that has one. An update with layers of other types is converted to them
// before anything else looks at it: rounded to the nearest number, to even in the
// middle, also where a layer holds whole numbers. Flower's own server takes what NumPy
// makes of the mix, so that one client with 64 bits has all others get 64 bits. A
// number that the type of the model cannot hold, as 1e300 in float32 or 300 in int8, has
// the update refused, for cut off it would be another. With differential privacy,
// layers of 64 bits are left as they are where package dp takes them.
//
// # Trainings without a result
//
// A round that aggregates no update says so in its note, and the status counts it. A
// job in which no round has aggregated any ends as [Interrupted] with the reason, and
// has no result: the model is still the one that it began with.
//
// # Privacy
//
// A configuration may name two mechanisms. With dp-adaptive, package dp clips and
// blurs the updates: [Status], [Round] and [Result] say what the models give away,
// a budget ends the training before it is exceeded, and a crash forgets nothing
// that was given away. With homomorphic, clients encrypt their updates and package
// ckks averages them without a key: the strategy is FedAvg, the model to begin with
// comes from a client, and the result is what clients can decrypt. Loss and metrics
// are in clear. [Server.SetPublicContext] stores the public context that clients
// load.
//
// The parts can be used alone: package flower speaks the protocol of the clients,
// strategy aggregates, tensor holds the numbers, repository keeps results.
package flcollect
