// Package jsondoc is the JSON input format: a strict reader of RFC 8259 texts
// and an evaluator of RFC 9535 JSONPath expressions over what it read.
//
// # Reading
//
// Load checks a whole text in one pass and writes one small record per value
// onto a tape: the kind, where the text of the value and of its member name
// stand, and where the next value after its subtree is. The tape is in
// document order, so that a subtree is a range of it. Nothing is copied and
// nothing is allocated once the tape has grown to the size of the messages.
//
// The reader accepts the texts of RFC 8259, and a leading UTF-8 byte order
// mark. Beyond the grammar, it does not accept text that is not UTF-8, \u
// escapes of surrogates that do not form a pair (an RDF literal cannot contain
// them), nesting and node counts beyond the limits, and texts of 4 GiB or more.
//
// Where an object repeats a member name, a name selector finds the last one,
// as most readers do; wildcards, descendants and filters visit every member
// as it was written.
//
// # Selecting
//
// An expression that begins with "$" is RFC 9535 and nothing else. Mappings
// also write bare expressions, which [ParseReference] describes. In an
// iterator "$" is the root of the document; in a reference "$" and "@" are
// both the record that the reference is evaluated against.
//
// Arrays are never expanded implicitly: a reference that selects an array
// returns one value of kind Array, and the caller decides.
package jsondoc
