// Package xsd implements the parts of XML Schema 1.1 Part 2 that the mapping
// engine needs: the names of the datatypes, their lexical spaces, and the
// canonical form of a double.
package xsd
