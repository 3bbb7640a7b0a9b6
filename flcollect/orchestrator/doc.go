// Package orchestrator tells the FL orchestrator of ASSIST-IoT how trainings go:
// that a round has ended, and that a training ended early.
//
// A [Client] is a flcollect.Orchestrator. It makes one request a call and repeats
// none; its errors say whether another try is worth it.
package orchestrator
