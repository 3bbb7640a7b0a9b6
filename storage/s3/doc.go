// Package s3 keeps blobs in a bucket of Amazon S3 or of a server with the same
// protocol, such as MinIO. It is a [storage.Blobs] that several processes may
// share.
//
// # Layout
//
//	PREFIX/blobs/c5h66…!   one record a blob, named after its key
//	PREFIX/bytes/7f03…     the bytes of one blob, under a random identifier
//	PREFIX/changes/7f03…   note of what a commit or delete may leave behind
//	PREFIX/uploads/7f03…   note of a multipart upload that has begun
//
// A record is a small JSON object: key, identifier, size, digests, time. Its
// name is the key in base32hex (RFC 4648 section 7, lower case, no padding),
// with a slash after every 200 characters and "!" at the end. That keeps the
// order of keys, fits the longest key into the 1,024 bytes of a name, and lets
// "a" stand beside "a/b", and "A" beside "a", where a server keeps objects in
// files. Objects with other names are ignored.
//
// # Durability
//
// Digests are known only at the end, and S3 cannot rename, so a blob becomes
// visible in one step like this: its bytes go to an object whose name nothing
// else uses, and only then is the record written, which S3 does completely or
// not at all. Each request carries the SHA-256 digest of its body, and the
// server refuses other bytes. The bucket must be strongly consistent, as those
// of Amazon and MinIO are, and not be versioned, or old versions stay.
//
// # What is removed, and when
//
// Readers hold the identifier. The bytes of a replaced or deleted blob stay for
// two hours, then [Store.Sweep] removes them, and a reader that is still open
// fails with [storage.ErrNotFound]. A commit takes at most 20 minutes behind its
// last byte, so a reader has at least an hour and a half.
//
// Before a commit or delete changes anything, it writes a note with the bytes that
// may be left without a record. Once the note is two hours old the sweep compares
// it with the record of the key, and removes all bytes that the record does not
// name. A multipart upload is noted when it begins, and aborted at the age of
// [Config].UploadAge. The times are those of the server's clock. The sweep reads
// notes, not blobs, so its work is that of the last interval.
//
// # Failures
//
// A request that failed in the network, or that the server deferred (429, 503
// SlowDown and others), is tried up to [Config].Attempts times; then the call
// fails with [storage.ErrUnavailable]. A reader continues after a lost
// connection. A connection without traffic for [Config].Timeout is closed.
//
// # Cost
//
// A commit takes four requests (the old record, the note, the bytes, the
// record), a delete three, Open and Stat one. List takes one for every 1,000
// blobs and one for each blob, 16 at a time.
//
// A writer buffers the bytes that are not uploaded yet: at most
// [Config].Uploads plus one parts of [Config].PartSize, 48 MiB by default, and
// for a small blob not more than four times its size. A reader keeps a buffer
// of 64 KiB. A store has one goroutine, the sweep, and up to 64 idle
// connections.
package s3
