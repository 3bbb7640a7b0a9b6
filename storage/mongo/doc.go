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
// without a replica set will do.
//
// Revisions are taken from one counter, in blocks of 1000 a store, and no two
// writes of the database have the same one. So a writer who lost the answer
// recognises his write: it is reported as done if the document is at his
// revision or the next one, and otherwise fails with
// [storage.ErrUnavailable], never with ErrExists or ErrConflict, when it cannot
// be known. A replica set also repeats lost writes by itself.
//
// # Outages
//
// A call waits [Config].SelectTimeout for a server, and [Config].Timeout or its
// context for the answer, and then fails with [storage.ErrUnavailable]. The
// next call tries anew: a store needs no reopening. [Open] asks the server
// before it returns, [New] does not. No error shows credentials.
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
// [storage.ErrNotFound]. An upload that takes more than 24 hours is given up:
// its list entry loses the right to be committed, which the same write
// decides as a Commit, and it is removed an hour later. Every open store looks
// for what is due each ten minutes. Clocks of the processes may differ by
// minutes, not by an hour.
//
// # Cost
//
// A store has the client's connections, at most 100, and one goroutine beside
// the client's. A BlobWriter holds back up to 4 MiB and sends them at once; a
// BlobReader holds 255 KiB at first and up to 4 MiB while reading goes on. A
// page of documents is held as a whole.
//
// The tests run against FerretDB, which speaks MongoDB's protocol, and against
// any server that is named to them.
package mongo
