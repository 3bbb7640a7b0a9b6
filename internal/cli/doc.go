// Package cli is what the command lines of all commands have in common: the exit status,
// the advice about a wrong flag, and the scripts with which shells complete a command.
package cli
