// Package xmldoc is the XML input format of the mapping engine: a strict
// reader of XML 1.0 (fifth edition) with namespaces, and XPath over what it
// read.
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
// other expression of XPath 3.1 is evaluated by package xpath, in the mode that
// is compatible with XPath 1.0. Both follow the recommendation to the letter: a name without a prefix stands
// for a name in no namespace, never for one in the default namespace.
//
// An expression that does not depend on the record, such as /r/@version or count(//b), is evaluated at the
// first record only.
//
// In the dialect of CARML (Compiler.ReadAsCARML) package xpath evaluates every expression that is not a plain
// path, without that mode. Inputs may be in other encodings, which are converted to UTF-8 before anything is
// read, and have a document type declaration without entities. An empty value does not count.
//
// Processing instructions are checked and dropped, so processing-instruction() is an error. No attribute is
// an ID, so id() selects nothing.
//
// An evaluation that takes more steps than 4,194,304, and than 64 for each node, ends in an error,
// whatever the expression, and so does one whose values take more memory than the nodes of the document may.
// Buffers of up to 16,384 nodes are kept; larger ones are freed on the
// first input that could not fill an eighth of them.
package xmldoc
