//go:build !race

package ckks_test

const raced = false
