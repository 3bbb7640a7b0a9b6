//go:build race

package multilink_test

// raced is true where the race detector watches.
const raced = true
