// Package backup backs up the data folders of the commands, beside a running
// server and of a stopped folder. A [Source] is what is backed up: the stores of one
// folder, or of the folder above those of all blocks, and the files beside them.
//
// # The stream
//
// [Stream.Write] writes a tar archive (POSIX pax): the files of the folder, with their
// names relative to it, and last the manifest, backup.json, which has the name, size and
// SHA-256 of every other file. An archive that was cut off has no manifest, and is no
// backup. Each store is a snapshot ([disk.Store.Snapshot]): the archive has every write
// that was acknowledged before the backup began. The digests of blobs are compared
// with those that the store recorded when they were written.
//
// The archive holds the secrets of the folder in clear.
//
// # Beside a running server
//
// The stores of a running server are locked. Its part [Source.Part] serves the stream on
// the Unix socket backup.sock of the folder, which only the owner of the folder can
// connect to; [Dial] connects. [Source.Handler] is the same over any listener.
//
// Subpackage transfer takes the stream to a folder or a bucket, and restores it.
package backup
