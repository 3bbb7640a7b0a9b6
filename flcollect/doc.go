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
// the model than [DefaultNormFactor] medians of the round before is shortened to
// that. Each client has a [Reputation] for the run of a job; one whose updates are
// refused or far beyond the bound again and again is suspended, which means that it
// is drawn only where there are too few others. What a reputation is worth depends
// on how clients are told apart: see [ClientReport].
//
// [Server.Report] says what became of every update of a round, and [Server.Audit]
// gives out a log of all attempts that [VerifyAudit] checks. Both are for who runs
// the server: no privacy mechanism covers them.
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
