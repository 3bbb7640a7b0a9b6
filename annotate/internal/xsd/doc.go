// Package xsd implements the parts of XML Schema 1.1 Part 2 that the mapping
// engine and the validation by shapes need: the names of the datatypes, their
// lexical spaces, the canonical form of a double and the order of values.
package xsd
