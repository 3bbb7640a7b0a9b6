// Package rdf holds RDF 1.1 terms and quads, and reads and writes their syntaxes.
//
// # Terms
//
// A [Term] is a comparable value, and a [Quad] is four of them. The mapping
// engine and the writers use terms in the canonical form of N-Triples, which
// [AppendTerm] and [AppendLiteral] write and [ParseTerm] reads. [ValidIRI],
// [ValidReference], [ValidLabel] and [ValidLangTag] report whether text is valid
// in a term; the writers do not check it again.
//
// # Writing
//
// An [Encoder] appends statements to a byte slice in any [Format], document after
// document, without allocating. A few formats cannot express every statement;
// [Encoder.Err] returns an error about the first one that was left out.
//
// # Reading
//
// A [Reader] returns the statements of an N-Triples, N-Quads, Turtle or TriG
// document one by one. It accepts exactly the grammars of the W3C, returns the
// line and column of an error, and enforces limits on the length of the
// document, the length of a token and the depth of nesting, so that it can read
// untrusted input.
//
// Package rdftest beside this one compares graphs in tests, and package rdf2go
// converts to the graphs of the library of that name.
package rdf
