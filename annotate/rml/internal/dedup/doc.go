// Package dedup finds duplicate statements. RDF graphs are sets, so a mapper
// writes each statement of a message once.
package dedup
