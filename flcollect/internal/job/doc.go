// Package job conducts one job from its start until nothing is left to do: it trains, stores how
// that ended, and delivers the results. A job is in one phase, and only moves on to a later one:
//
//	waiting -----------> training ----------> saving -----------> delivering --------> ended
//	  for the clients      rounds, until        how it ended, and     what others have
//	  of the first round   they are done,       a first attempt to    not accepted yet
//	                       stopped or failed    deliver
//
// The work of each phase has one context:
//
//   - waiting and training end with [Job.Stop], whose reason the job then has. Both share a
//     context, because a training waits for clients in every round.
//   - saving ends only with [Job.Lose], or with the server: the end of a training that was
//     stopped is stored all the same.
//   - delivering ends with [Job.Retire], because another run or another server goes on with
//     what is left. Deliveries begin during the training, and have this context from the start.
//   - ended has none.
//
// A context ends with that of the next phase, so Lose ends everything. A job that is lost, or
// whose server ends, goes from training to ended: it goes on in the phase that its record says,
// at the next server or after the restart.
package job
