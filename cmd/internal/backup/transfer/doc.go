// Package transfer takes backups from a server or a stopped folder to a folder or a
// bucket of S3, and restores them: what the commands "enablers backup" and "enablers
// restore" do.
//
// Everything is checked before the target is complete: that the manifest is there, that
// the names stay below the folder and belong to the owner, that the sizes and digests are
// those of the manifest, and, when it is restored, that every store opens with the files
// of all its blobs.
package transfer
