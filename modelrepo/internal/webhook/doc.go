// Package webhook calls the callbacks of webhooks when the repository changes.
//
// [Hooks] keeps the webhooks. An operation that a webhook is registered for runs
// inside [Hooks.Record], which stores an intent before the operation and replaces it
// by an event in the queue of each webhook after it. [Hooks.Run] delivers the queues:
// each webhook has at most one call in progress, over all processes, so that its
// events arrive in order. A lease in storage gives one process the right to call. No clock
// is compared with that of another machine, except with those of processes of older versions.
//
// A process that crashes between the operation and the event leaves the intent.
// [Hooks.Run] then gets from the [Tree] whether the operation happened. It does that for
// intents that it has seen for the time after which an operation has probably crashed.
package webhook
