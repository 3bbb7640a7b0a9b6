// Package webhook calls the callbacks of webhooks when the repository changes.
//
// [Hooks] keeps the webhooks. An operation that a webhook is registered for runs
// inside [Hooks.Record], which stores an intent before the operation and replaces it
// by an event in the queue of each webhook after it. [Hooks.Run] delivers the queues:
// each webhook has at most one call in progress, over all processes, so that its
// events arrive in order. A lease in storage gives one process the right to call.
//
// A process that crashes between the operation and the event leaves the intent.
// [Hooks.Run] then gets from the [Tree] whether the operation happened.
package webhook
