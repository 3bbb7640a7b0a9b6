//go:build race

package rml_test

// poolFactor is how much more is allocated where pools lose values: the race detector drops some that
// package regexp keeps.
const poolFactor = 8
