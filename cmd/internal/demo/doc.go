// Package demo replays the weather observations of examples/weather through
// three channels, one a format, and checks that every message comes out again.
//
// It uses what any client has: the channels' methods and the broker. What it
// counts as out is what arrived on the output topics, message by message in
// the order of sending, not what the channels say of themselves.
package demo
