// Package lease gives a key of a [storage.Documents] to one process at a time, for as long
// as the process renews it.
//
// A lease is one document that its holder writes again and again. No clock is compared with
// that of another machine. The holder counts from the moment before it began the last
// renewal that succeeded; every other process counts from the moment after it first read
// the result. So the lease runs out for the holder first: [Lease.Context] ends before
// another process can take the key. A process takes a key by replacing or deleting the
// document at the revision that it has watched: of that and a late renewal only one
// succeeds.
//
// [Lease.Context] also ends when the machine was suspended for longer than the lease lasts, soon after it
// resumes: the monotonic clock stands still meanwhile, so the wall clock counts as well. [Instant]
// is for holders that count by themselves.
//
// A process that was suspended, or a write that a network delayed, can act after the
// context has ended, as with every lease. What a holder writes must therefore be fenced:
// a new holder first changes each document that it takes over, and every holder names the
// revision that it replaces, so that a late write of the last one conflicts.
package lease
