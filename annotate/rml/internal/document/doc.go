// Package document reads mapping documents: the statements of a Turtle file by
// subject, with the lines they stand on and the vocabulary they are written in.
// What the statements mean together is decided by the loader of package rml.
package document
