// Package round conducts the rounds of a job. A [Conductor] draws clients from a [Pool],
// sends them the model, passes their updates to the strategy of the job, and has clients
// evaluate the new model. A [Record] is what is stored of a finished round.
//
// A [Stream] conducts the versions of an asynchronous job instead: clients train all the
// time, and each update joins the version whose buffer is open when it arrives.
//
// The package stores nothing, and nothing that it starts outlives a call or the Close of a
// stream: what a round leads to is decided by the training of the job.
package round
