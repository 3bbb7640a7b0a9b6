// Package attack attacks the servers of this project as a user starts them, and holds
// that no attack succeeds. README.md lists who attacks what, what stops it, and which test
// proves it.
//
// The commands are built once and run as processes, with -access token and three tokens,
// one a role. Each listens on free ports of the loopback interface, stores in a temporary
// folder of its test, and ends with it. Attacks that need a browser are in
// test/browser.
package attack
