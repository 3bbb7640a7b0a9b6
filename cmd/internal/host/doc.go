// Package host runs building blocks as a server. The command of one block is its flags and that
// block; enablers is a list of five, a broker and a console.
//
// # Order
//
// [Flags.Serve] does for every server the same, in this order:
//
//  1. It opens the listeners, so that a port that is taken is known before anything else happens.
//  2. The blocks read the files that their settings name, and refuse wrong ones.
//  3. It opens the stores, and contacts no server yet.
//  4. The blocks prepare: they read what they have in the folder of the server, such as secrets.
//  5. Until the servers of the stores have answered, it answers 503.
//  6. It opens the door.
//  7. The blocks open: each returns what it serves and runs, see [Block].
//  8. It runs the parts: backups, the door, those of the blocks, the web interface. Then it prints
//     the addresses, and runs what begins later, such as a demonstration.
//
// When the context ends it stops the parts and closes everything in the opposite order.
//
// # What is beside
//
// A block that its command and enablers have in common is a package beside this one: annotation,
// models, collector and management. The one type of such a package is an [Opener], whose fields
// are the configuration: flags bind to them. Multi-link has none: cmd/multilink takes rights over
// the machine, and enablers shows a pair in memory.
//
// The other packages are parts of a server (door, stores, datafolder, backup, session,
// sharedsecret, telemetry), of its pages (console, overview), of mappings (mappingfunctions), and
// the demonstrations.
package host
