// Package upgrade holds data folders that earlier versions of our commands
// made, for the tests of the commands: [Folder] unpacks one, [Start] runs a command
// on it, and [Compare] compares its answers with those of then.
//
// The folder testdata has an archive for each command and version, with the script
// that made it. README.md says which commit that was.
package upgrade
