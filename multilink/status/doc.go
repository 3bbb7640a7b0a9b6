// Package status is what a bond reports of itself: the states of its links, its
// counters and its events.
package status
