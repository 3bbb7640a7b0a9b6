// Package takeover kills annotators that share a store, under load, and measures how
// long their channels stand still.
package takeover
