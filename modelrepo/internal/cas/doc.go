// Package cas helps operations that change documents by compare-and-set: it reports
// lost races, waits before the next attempt, and bounds the cleaning up afterwards.
package cas
