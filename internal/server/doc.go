// Package server is what the thin servers under cmd share: settings from
// flags, environment and a file; logging; listeners; and the parts of a process
// that start one after the other and stop in the opposite order.
//
// A command declares its flags on a [Flags], opens its listeners with [Listen]
// so that a port that is taken is known before anything else happens, and
// hands its parts to [Run]. Only [Main] and [Flags.Serve] take
// signals, and only Main exits.
package server
