// Package stores opens what the flags -store and -blobs of the commands name: folders,
// memory, databases and buckets, in the same way for every command. -data stays the folder
// of the command's own files.
//
// # Servers
//
// [Settings.Open] contacts no server. A command calls [Stores.Wait] before it uses the stores:
// until all of its servers have answered and the databases are known to be those of the block, it
// answers 503 on the listeners of the command.
//
// # Owners
//
// A folder belongs to one block, see package datafolder. A database has a mark of each
// block that uses it. Several blocks may use one if their keys cannot collide.
//
// # Secrets
//
// No error and no log shows a URL, since it may hold a password.
package stores
