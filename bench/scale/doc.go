// Package scale has no code but tests: they count how the costs of the building blocks grow
// with their number, and check the formulas by which docs/scale.md extrapolates. Most of them
// run in virtual time, so that no other work on the machine changes what they count. With
// SCALE=1 they try the great sizes as well, and print the tables of a record.
package scale
