// Package demo replays the weather observations of examples/weather through
// three channels, one a format, and checks that every message comes out again.
//
// It uses the methods of the channels and the broker, as any client does. It counts the
// outputs that arrive on the output topics, message by message in the order of sending,
// and not the counters of the channels.
package demo
