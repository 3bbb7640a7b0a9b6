// Package follow has a gateway serve the configuration of another process, its control plane: a
// data plane without a store of its own, of which there may be many.
//
// A [Follower] asks the Admin API of the control plane every [Config.Interval] whether the
// configuration has changed. What it gets it serves, and keeps in a file that only its owner can
// read: without the control plane it serves on, and a restart begins with what the file has. A
// configuration that the gateway does not take, because it lacks a kind of plugin, is not served
// in part: the one before is served on, and [Follower.State] says so.
package follow
