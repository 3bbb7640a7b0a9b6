// Package xmldoc is the XML input format of the mapping engine: a strict
// reader of XML 1.0 (fifth edition) with namespaces, and XPath 1.0 over what
// it read.
//
// Load checks the whole input as a non-validating processor must, well-formed
// and namespace-well-formed, and fills one flat array of nodes in document
// order that is reused from input to input. A document type declaration is
// refused, so there are no entities but the five predefined ones and nothing
// outside of the input is ever read. The encoding is UTF-8. Nothing recurses:
// the depth of the input costs no stack.
//
// Location paths that go along the child, attribute, self, parent and
// descendant axes with at most a number as predicate (/a/b, @id, p:b/text(),
// //b[1], ..) are compiled and evaluated here, without allocating once
// buffers have grown. Every other expression is evaluated by
// github.com/antchfx/xpath over the same nodes. A name without a prefix
// stands for a name in no namespace, never for one in the default namespace,
// as XPath 1.0 says.
//
// Against XPath 1.0 these are missing: variables, the namespace axis,
// processing-instruction(), id() and lang(). Processing instructions are
// checked and dropped.
package xmldoc
