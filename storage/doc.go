// Package storage holds the two contracts that the building blocks persist
// through, and an implementation of both in memory.
//
// [Documents] keeps small JSON documents, each with a revision. [Blobs] keeps
// byte streams of any size, each with its digests. [NewMemoryDocuments] and
// [NewMemoryBlobs] need no set-up and keep everything until the process exits;
// package storage/disk keeps both in one folder. [Prefixed] and [PrefixedBlobs]
// let several components share one store. Package storage/storagetest is the
// suite that every driver and every wrapper passes.
//
// # Keys
//
// A key is a non-empty UTF-8 string without control characters, at most
// [MaxKeyLength] bytes long; [ValidKey] decides. Keys are ordered by their
// bytes. The slash has no meaning to a driver: "a", "a/" and "a/b" are three
// unrelated keys that may all exist. By convention it ends the prefix of the
// keys of one component, so that List can find them.
//
// # Revisions
//
// Every state of a document has a [Revision]. Update and Delete name the
// revision that they replace and fail with [ErrConflict] when the document has
// another one: read, decide, write, and start again on a conflict. A revision
// is only ever compared for equality. It is never used twice for one key, so an
// update prepared before a delete cannot hit the document that was created
// afterwards.
//
// # Durability
//
// A write that returned nil survives the death of the process, and in drivers
// that keep data on stable storage also the loss of power. A write that
// returned another error than those of this package happened completely or not
// at all; after a lost connection the outcome can be unknown.
//
// There are no transactions over several keys, and none over a blob and a
// document. A program that needs both writes the blob first, under a key that
// nothing else uses, and then the document that names it.
//
// # Concurrency
//
// Stores may be used from many goroutines, and shared drivers from many
// processes. A method that begins after a write was acknowledged sees that
// write. A [BlobWriter] and a [BlobReader] belong to one goroutine at a time.
//
// # Errors
//
// Errors read as a sentence: the verb, the key, the cause. The sentinels of
// this package are found with [errors.Is]; a cancelled context is found as
// [context.Canceled] or [context.DeadlineExceeded]. A method that is called
// with a context that has already ended does nothing.
//
// # Writing a driver
//
// An engine that has only atomic writes of one record can meet every
// requirement.
//
// Revisions: take them from a counter that the engine increments atomically in
// one record (MongoDB: $inc with findOneAndUpdate), and never delete that
// record. An engine with entity tags (S3: If-None-Match, If-Match) compares the
// tag it read together with the revision, and keeps a tombstone where it cannot
// delete conditionally.
//
// Data: return the bytes that were given. An engine with a document type of its
// own (BSON) keeps them as a binary field, because a conversion changes numbers
// and the order of members.
//
// Order: compare keys as bytes (MongoDB: the simple collation on _id; S3: the
// order of general purpose buckets). Where the engine restricts names, encode
// the key so that order and prefixes are kept; MaxKeyLength leaves an S3 driver
// room for that within the 1,024 bytes of an object name, for "a" beside "a/b"
// where objects are files, and for a prefix of its own.
//
// Blobs: store the bytes under a fresh identifier first (a file, a GridFS file,
// an object), and then publish them with one atomic write of a small record
// under the key that names the identifier, the size and the digests, which are
// known only at the end. Readers hold the identifier, so replacing or deleting
// the record does not disturb them. Bytes without a record are garbage; where
// several processes share the store, garbage is collected only after an hour.
//
// Deletes: where the engine does not say whether something was deleted (S3),
// look first. Of several deletes at one time more than one may then return nil,
// which [Blobs] permits. Documents are deleted at a revision, and exactly one
// delete succeeds.
package storage
