// Package xpath is XPath 3.1 over a tree whose nodes are numbered in document order.
//
// Compile checks an expression once; an Evaluator returns its value at a node as a sequence of nodes
// and strings. All axes but namespace are there, predicates, for, let, if, some and every, the operators
// of sequences, strings, numbers, nodes and types, dates, durations, and the functions of XPath and XQuery
// Functions and Operators 3.1 that need neither other documents nor functions as values. Left out
// are maps, arrays and function items, the namespace axis, schemas, collations but that of code points,
// and xs:gYear and its like. A name without a prefix stands for a name in no namespace.
//
// Integers have 64 bits, and a result that needs more is an error. Decimals are exact; a quotient has 18 places.
// Dates and durations have a precision of nanoseconds. The implicit time zone is UTC. The functions
// current-dateTime, current-date and current-time read the clock once per evaluation.
//
// A part of an expression that visits nodes, and depends on neither the context item nor a variable of the rest, has
// the same value everywhere in a tree: an Evaluator evaluates it once and keeps the value, within 4 MiB for a tree.
//
// An evaluation counts its steps and the memory of its values ([Limits]) and ends in an error when there are
// too many, so no expression runs for long or takes much memory, whatever a document has. A regular
// expression of a document is compiled for one evaluation and then dropped. Expressions have at most 65,536
// bytes and nest at most 128 deep. Regular expressions are evaluated by package regexp in linear time;
// back-references are an error.
package xpath
