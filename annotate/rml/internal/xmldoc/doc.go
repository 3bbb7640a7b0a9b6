// Package xmldoc is the XML input format of the mapping engine: a strict
// reader of XML 1.0 (fifth edition) with namespaces, and XPath 1.0 over what
// it read.
//
// Load checks the whole input as a non-validating processor must, well-formed
// and namespace-well-formed, and fills one flat array of nodes in document
// order that is reused from input to input. A document type declaration is an
// error, so there are only the five predefined entities, and nothing outside of
// the input is ever read. The encoding is UTF-8. Nothing recurses: the depth of
// the input costs no stack.
//
// A location path that goes along the child, attribute, self and parent axes
// and // with at most a number as predicate (/a/b, @id, p:b/text(), //b[1], ..)
// is evaluated step by step, without allocating once buffers have grown. Every
// other expression of XPath 1.0 is evaluated from its syntax tree. Both follow
// the recommendation to the letter: a name without a prefix stands for a name
// in no namespace, never for one in the default namespace. Expressions that
// call a function of XPath 2.0 (matches, replace, lower-case, ends-with,
// string-join, reverse) are evaluated by github.com/antchfx/xpath over the same
// nodes, as far as the results are known to be right.
//
// In the dialect of CARML (Compiler.ReadAsCARML) every expression that is not a plain path is XPath 3.1,
// evaluated by package xpath. Inputs may be in other encodings, which are made UTF-8 before anything is
// read, and have a document type declaration without entities. A value that is empty is none.
//
// In XPath 1.0 not supported are variables, the namespace axis and
// processing-instruction(); processing instructions are checked and dropped.
// No attribute is an ID, so id() selects nothing.
//
// An evaluation that takes more steps than 4,194,304, and than 64 for each node, ends in an error,
// whatever the expression. Buffers of up to 16,384 nodes are kept; larger ones are freed on the
// first input that could not fill an eighth of them.
package xmldoc
