// Package documents runs the commands of README.md and of the pages in docs as
// a reader types them, so that no page promises what does not work. The tests need
// Linux, Mosquitto, curl and jq, and run where ENABLERS_REQUIRE_PEERS is set.
//
// A fenced block of a page is one of these:
//
//	```sh          commands for the reader's terminal, run in order in one shell
//	```sh server   one command that goes on, in a terminal of its own
//	```sh gate     a command that the gate runs in a stage of its own
//	```text        right after commands: lines that their output has in it
//
// Each page runs in a copy of the repository, in a network namespace of its own, so
// that the addresses of the pages are free and reach nothing else.
package documents
