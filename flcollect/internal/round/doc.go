// Package round conducts the rounds of a job. A [Conductor] draws clients from a [Pool],
// sends them the model, passes their updates to the strategy of the job, and has clients
// evaluate the new model. A [Record] is what is stored of a finished round.
//
// The package stores nothing and starts nothing that outlives a call: what a round leads
// to is decided by the training of the job.
package round
