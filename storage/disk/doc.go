// Package disk keeps documents and blobs in one folder of a local disk. It is
// the embedded default of [storage.Documents] and [storage.Blobs].
//
// # Layout
//
//	DIR/store.db          documents, and one record a blob (a bbolt database)
//	DIR/blobs/7f/7f03…    the bytes of one blob, under a random identifier
//	DIR/format.json       the owner of the folder and its format, with [Options].Owner
//
// Nothing in the folder is named after a key. store.db and blobs belong together:
// copy the folder while no store has it open, or copy a [Snapshot] of an open one.
//
// # Durability
//
// A document is in store.db, synced, before the call returns. Writers that
// come at one time share one sync.
//
// A blob becomes visible in one step: its bytes go to a new file, the file is
// synced, then the folder that names it, and only then does one transaction put
// the record that points to the file under the key. After a crash of the
// process or the machine, the record points to the complete old content, to the
// complete new one, or to none. The file of a replaced or deleted blob is
// removed after that transaction; readers that have it open continue. The next
// [Open] removes files without a record.
//
// store.db is created under another name and renamed when it is complete, so that
// a first start that fails on a full disk or is killed does not affect the next
// one. Open returns an error for a store.db with fewer pages than its meta pages
// say, and keeps the file unchanged. A page that cannot be read is an error of the call that
// needs it, with the advice to restore a backup.
//
// The file system must keep synced data, support flock and memory mapping, and
// allow open files to be removed. Network file systems often do not. On Windows
// folders are not synced, and a file that is being read is removed by the next
// Open.
//
// # One process
//
// A folder is open in one [Store] at a time. A second one, in this or another
// process, is refused with [ErrLocked] after [Options].LockTimeout.
//
// # Snapshots
//
// [Store.Snapshot] is for backups of a store in use. It copies store.db within the
// folder, and keeps the files of blobs that are replaced or deleted until it is closed.
// bbolt has writers that enlarge the database wait for open read transactions, so none
// stays open for the reader of a snapshot, which may be slow. store.db grows by what is
// written while it is being copied. A snapshot takes the size of store.db and of the
// blobs that are replaced or deleted meanwhile on the disk, 16 bytes of memory for each
// of these blobs, and a file descriptor. There is one at a time.
//
// # Cost
//
// An idle Store has one file descriptor, a memory mapping of store.db and no
// goroutine. store.db never shrinks; its free pages are used again. An open
// [storage.BlobWriter] has one file descriptor and a buffer of 64 KiB, an open
// [storage.BlobReader] one file descriptor; how many there are is up to the
// caller. On Linux a large blob is written to the disk in the background, so
// that Commit is fast. Open reads every blob's record and the names of all blob
// files, and for that moment needs about 64 bytes of memory a blob.
package disk
