// Package orchestrator reports the progress of trainings to the FL orchestrator of
// ASSIST-IoT: the end of a round, and an early end of a training.
//
// A [Client] is a flcollect.Orchestrator. It makes one request a call and repeats none;
// its errors say whether to try again.
package orchestrator
