//go:build race

package ckks_test

// raced is whether the race detector runs, under which clients in Python are given
// smaller models: it makes reading theirs ten times as slow.
const raced = true
