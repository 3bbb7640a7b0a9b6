// Package tus keeps resumable uploads, as the protocol tus 1.0.0 with the extensions
// creation, expiration, checksum and termination has them.
//
// [Uploads] stores the state of each upload as a document and its bytes as pieces,
// blobs of at most 64 MiB. A piece becomes durable first, and then a compare-and-set
// of the document moves the offset. No lock is held: of two pieces for one offset, the
// second finds the document at another revision. The last piece is not entered in the
// document. Instead all pieces go to the [Publisher] in one stream, which makes them
// the content, and only then the offset becomes the length. If the process ends in
// between, the last piece is sent again.
//
// The headers of the protocol are read and written by the packages above.
package tus
