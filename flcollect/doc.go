// Package flcollect is the server side of federated learning: it runs rounds of
// training with Flower clients, aggregates what they send, and hands the result
// to a repository.
//
// A [Server] runs any number of jobs. Each job has a configuration, waits for
// its clients, trains for a number of rounds, and ends with a result. All of it
// is kept in package storage, so that a job goes on after a restart from the last
// round that was finished.
//
// The parts can be used alone: package flower speaks the protocol of the clients,
// strategy aggregates, tensor holds the numbers, repository keeps results.
package flcollect
