// Package attack attacks the servers of this project as a user starts them, and holds
// that no attack succeeds. README.md lists who attacks what, what stops it, and which test
// proves it.
//
// Each command is built once and runs as a process, mostly with -access token and three
// tokens, one a role. A process listens on free ports of the loopback interface, stores in a
// temporary folder, and ends with its test. Tests that only read, or are refused, share one
// process for each command. Attacks that need a browser are in test/browser.
package attack
