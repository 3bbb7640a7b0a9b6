// Package document reads untrusted JSON and YAML into a tree in which
// every value has its place: the line, the column and the JSON pointer (RFC
// 6901). It is what API definitions and declarative configurations have in common.
//
// Size, depth and the number of values are bounded, those that aliases of YAML
// stand for included. Members keep their order and are unique; what YAML can say
// and JSON cannot (dates, infinities, keys that are lists, tags of programs) is
// either a string or an error. A tree is written as JSON or as YAML again, the
// same bytes for the same tree.
package document
