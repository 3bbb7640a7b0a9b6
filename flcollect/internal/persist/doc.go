// Package persist writes to storage so that neither an outage nor a lost answer does
// harm: operations are repeated until they succeed, and a write that has already taken
// effect is recognised.
package persist
