// Package document reads mapping documents: the statements of a Turtle file by
// subject, with their lines and the vocabulary they are written in.
// The loader of package rml interprets them.
package document
