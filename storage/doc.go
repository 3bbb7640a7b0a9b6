// Package storage holds the two storage contracts of the building blocks.
package storage
