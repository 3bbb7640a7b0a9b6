// Package rdf holds RDF 1.1 terms and quads, and reads and writes their syntaxes.
//
// # Terms
//
// A [Term] is a comparable value, and a [Quad] is four of them. Between programs
// and within the engine terms travel in the canonical form of N-Triples, which
// [AppendTerm] and [AppendLiteral] write and [ParseTerm] reads. [ValidIRI],
// [ValidReference], [ValidLabel] and [ValidLangTag] tell whether text may become
// part of a term; the writers do not check it again.
//
// # Writing
//
// An [Encoder] appends statements to a byte slice in N-Triples, N-Quads, Turtle,
// TriG, JSON-LD, RDF/XML or RDF/JSON, document after document, without allocating.
// RDF/XML cannot express every statement; [Encoder.Err] tells which was left out.
//
// # Reading
//
// A [Reader] returns the statements of an N-Triples, N-Quads, Turtle or TriG
// document one by one. It takes what the grammars of the W3C allow and nothing
// else, says in which line and column a document breaks them, and stays within
// limits on the length of the document, the length of a token and the depth of
// nesting, so that it can be given input from strangers.
//
// Package rdftest beside this one compares graphs in tests, and package rdf2go
// converts to the graphs of the library of that name.
package rdf
