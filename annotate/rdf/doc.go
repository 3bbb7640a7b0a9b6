// Package rdf holds RDF terms and quads, and reads and writes their syntaxes.
package rdf
