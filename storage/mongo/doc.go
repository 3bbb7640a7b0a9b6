// Package mongo keeps documents and blobs in a MongoDB database, where several
// processes share them. It is a driver of [storage.Documents] and
// [storage.Blobs] over the official client library.
//
// # Layout
//
//	documents   {_id: KEY, rev, prev, data}   data is the JSON text, as a string
//	blobs       {_id: KEY, rev, prev, file, size, md5, sha256, modified, others, due}
//	counters    {_id: "revision", last}       never remove it
//	fs.files, fs.chunks                       the bytes of blobs, as GridFS keeps them
//
// A document's text is kept byte for byte, and so nothing within it can be
// queried. Other programs may read the database, and blobs with any client for
// GridFS by their key as the file name; they must not write to it, and the
// collections must keep the simple collation that they are created with. Back
// up the whole database together.
//
// # Durability and consistency
//
// Writes are acknowledged by a majority of the replica set and its journals
// before a call returns nil. Reads are of the primary and see what a majority
// has, so what was read is never rolled back. Every operation changes one
// document of the database; transactions are not used, and a single server
// without a replica set is sufficient.
//
// Revisions are taken from one counter, in blocks of 1000 a store, and no two
// writes of the database have the same one. So a writer whose answer was lost
// can recognise its write: the write succeeds if the document is at its
// revision or the next one. If the outcome cannot be known, it fails with
// [storage.ErrUnavailable], never with ErrExists or ErrConflict. A replica set
// also repeats lost writes by itself.
//
// # Outages
//
// A call waits [Config].SelectTimeout for a server, and [Config].Timeout or its
// context for the answer, and then fails with [storage.ErrUnavailable]. The
// next call tries again: a store need not be reopened. [Open] contacts the
// server before it returns, [New] does not. No error shows credentials.
//
// # Blobs
//
// The record of a key names the blob that it has, and lists every other file
// that was begun under it. An upload enters that list before its first byte is
// sent, so that bytes without an entry do not exist, and Commit moves it to the
// name, and what it replaces to the list, in one write. Files leave the list
// after they were removed.
//
// What was replaced, deleted or aborted is removed after an hour, so an open
// [storage.BlobReader] goes on for at least that long; it then fails with
// [storage.ErrNotFound]. An upload that takes more than 24 hours is abandoned:
// a compare-and-set of the record, as in Commit, removes its permission to be
// committed, and its file is removed an hour later. Every open store removes
// due files every ten minutes. Clocks of the processes may differ by minutes,
// not by an hour.
//
// # Cost
//
// A store has the client's connections, at most 100, and one goroutine beside
// the client's. A BlobWriter buffers up to 4 MiB; a BlobReader buffers 255 KiB
// at first and up to 4 MiB later. A page of documents is kept in memory as a
// whole.
//
// The tests run against FerretDB, which speaks MongoDB's protocol, and against
// any server that the environment names.
package mongo
