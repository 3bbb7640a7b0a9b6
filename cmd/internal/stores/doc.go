// Package stores opens what the flags -store and -blobs of the commands name: folders,
// memory, databases and buckets, in the same way for every command. -data stays the folder
// of the command's own files.
//
// # Servers
//
// [Settings.Open] contacts no server. [Stores.Part] runs a block once all of its servers have
// answered, while its interface answers already. [Stores.Wait] is for a command that has to
// read the store before it can serve: until the servers answer, it answers 503 on the
// listeners of the command.
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
