//go:build !race

package bond_test

// raced is true where the race detector watches.
const raced = false
