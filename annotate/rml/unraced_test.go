//go:build !race

package rml_test

// poolFactor is how much more is allocated where pools lose values.
const poolFactor = 1
